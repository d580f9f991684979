"""Gradients of operators whose shapes are arguments: those of the static operators where the arguments are constants."""

from __future__ import annotations

from dataclasses import replace

from ...ir import Call, Constant, Expr, TensorType, Tuple, TupleGetItem, TupleType, Type
from ...ops.base import call, op
from ...ops.dyn.base import Dynamic
from ...ops.known import Known
from ..core.constants import has_data, to_array
from ..core.reshaping import reshape_to
from .rule import GradientSite, find_rule, gradient, zeros_like


@gradient("dyn.squeeze", "dyn.expand_dims")
def reshaped(s: GradientSite) -> list[Expr]:
    """The gradient in the shape of the argument; axes have no gradient."""
    return [call("reshape_like", s.grad, s.args[0]), zeros_like(s.args[1])]


@gradient(
    "dyn.tile",
    "dyn.strided_slice",
    "dyn.nn.pad",
    "dyn.one_hot",
    "dyn.topk",
    "dyn.image.resize2d",
    "dyn.nn.upsampling",
    "dyn.nn.upsampling3d",
    "dyn.sparse_to_dense",
)
def frozen(s: GradientSite) -> list[Expr]:
    """The gradient of the static operator; shapes, sizes and bounds have no gradient."""
    operator = s.attrs
    assert isinstance(operator, Dynamic)
    known = [s.sources[i] if i < len(s.sources) else None for i in operator.moving]
    values = [to_array(e) for e in known if isinstance(e, Constant) and has_data(e)]
    if len(values) < len(known):
        names = " and ".join(type(operator).arguments[i] for i in operator.moving)
        raise s.refuse(f"is defined for a constant {names}")
    static = operator.freeze(*values)
    rule = find_rule(static.name)
    assert rule is not None
    rest = [i for i in range(len(s.args)) if i not in operator.moving]
    args, types = tuple(s.args[i] for i in rest), tuple(s.types[i] for i in rest)
    result = static.relate(types, Known())
    assert result is not None
    site = replace(
        s,
        args=args,
        types=types,
        attrs=static,
        out=Call(op(static.name), args, static, (), s.out.span),
        type=result,
        grad=_of_static_shape(s.grad, result),
        sources=tuple(s.sources[i] for i in rest),
    )
    gradients = dict(zip(rest, rule(site), strict=True))
    return [gradients[i] if i in gradients else zeros_like(a) for i, a in enumerate(s.args)]


def _of_static_shape(grad: Expr, type: Type) -> Expr:
    """A gradient whose type has open dimensions, in the shape that is known after all."""
    if isinstance(type, TupleType):
        return Tuple(tuple(_of_static_shape(TupleGetItem(grad, i), t) for i, t in enumerate(type.fields)))
    assert isinstance(type, TensorType)
    return reshape_to(grad, type.static_shape)
