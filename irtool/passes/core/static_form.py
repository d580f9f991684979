"""The static form of a dynamic operator: its shapes as attributes, once they are constants."""

from __future__ import annotations

from ...deferred import np
from ...ir import Call, Constant, Expr, Op, TensorType
from ...ops.base import op
from ...ops.dyn.base import Dynamic
from .constants import has_data, to_array


def static_form(e: Call) -> Call:
    """The static form of a dynamic operator whose shapes are constants; `e` itself if it is something else."""
    if not isinstance(e.op, Op) or not issubclass(e.op.operator, Dynamic):
        return e
    moving = e.attrs.moving
    values = [_known_value(e.args[i]) for i in moving]
    if any(v is None for v in values):
        return e
    static = e.attrs.freeze(*values)
    rest = tuple(a for i, a in enumerate(e.args) if i not in moving)
    return Call(op(static.name), rest, static, (), e.span)


def _known_value(e: Expr) -> np.ndarray | None:
    """The value of a constant, or of a tensor without elements; None for a value known only at run time."""
    if isinstance(e, Constant):
        return to_array(e) if has_data(e) else None
    t = e.checked_type
    if isinstance(t, TensorType) and t.is_static and 0 in t.shape:
        return np.empty(t.static_shape, "int64")
    return None
