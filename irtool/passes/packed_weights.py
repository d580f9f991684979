"""Transposes of weights that stay packed."""

from __future__ import annotations

from ..deferred import np
from ..ir import Call, Constant, Expr, MissingData
from ..ops.base import attributes_of, call, is_call_to
from .core.lexical_devices import without_device


def transposed_weights(e: Expr) -> Call | None:
    """`qnn.dequantize_blocks` of transposed constants in place of a transpose of its result; None for other expressions.

    ::

        transpose(qnn.dequantize_blocks(meta[relay.Constant][0], …, axis=0), axes=[1, 0])
            ⇒  qnn.dequantize_blocks(meta[relay.Constant][1], …, axis=1)
    """
    if not is_call_to(e, "transpose"):
        return None
    weights = without_device(e.args[0])
    if not is_call_to(weights, "qnn.dequantize_blocks"):
        return None
    parts = [without_device(a) for a in weights.args]
    if not all(isinstance(p, Constant) and not isinstance(p.data, MissingData) for p in parts):
        return None
    rank = parts[0].data.ndim  # type: ignore[attr-defined]  # all of them are constants with data
    attrs = e.attrs
    order = [a % rank for a in attrs.axes] if attrs.axes is not None else [*reversed(range(rank))]  # type: ignore[union-attr]  # an operator's
    axis = order.index(weights.attrs.axis % rank)  # type: ignore[union-attr]  # as above
    moved = [
        Constant(np.ascontiguousarray(np.transpose(p.data, order)), p.dtype, None, p.span)  # type: ignore[attr-defined]  # as above
        if p.data.ndim  # type: ignore[attr-defined]  # as above
        else p
        for p in parts
    ]
    return call("qnn.dequantize_blocks", *moved, span=weights.span, **attributes_of(weights.attrs, axis=axis))
