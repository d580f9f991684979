"""Integer forms that came after TVM 0.10, followed where they are asked for."""

from __future__ import annotations

from ...diagnostics import IrError
from ...ir import Call, Constant, Expr, MissingData
from ...ops.base import call
from ...ops.qnn.softmax import steps_to_one
from .affine import Affine, AnyAffine, NotSupported, Types, optional_rule, tensor_type


@optional_rule("nn.softmax")
def softmax(e: Call, types: Types) -> tuple[Expr, AnyAffine]:
    """`qnn.softmax`, where the input is int8 and its scale is small enough for that."""
    (x,) = e.args
    now, target = tensor_type(types, x), tensor_type(types, e)
    scale = _scalar(now.scale)
    if now.dtype != "int8" or target.dtype != "int8":
        raise NotSupported(f"qnn.softmax is defined for int8, not {now.dtype} and {target.dtype}")
    try:
        steps_to_one(scale)
    except IrError as error:
        raise NotSupported(error.diagnostics[0].message) from None
    out = call("qnn.softmax", x, now.scale, now.zero_point, target.scale, target.zero_point, axis=e.attrs.axis)
    return out, Affine(target.scale, target.zero_point, "int8", target.axis)


@optional_rule("take")
def take(e: Call, types: Types) -> tuple[Expr, AnyAffine]:
    """`take` of the integers; all of them must have one scale."""
    x, indices = e.args
    now = tensor_type(types, x)
    _scalar(now.scale)
    attrs = e.attrs
    return call("take", x, indices, batch_dims=attrs.batch_dims, axis=attrs.axis, mode=attrs.mode), now


def _scalar(e: Expr) -> float:
    """The value of a constant of one element. Raises NotSupported for anything else."""
    if not isinstance(e, Constant) or isinstance(e.data, MissingData) or e.data.size != 1:
        raise NotSupported("a scale is not a constant scalar")
    return float(e.data.reshape(()))
