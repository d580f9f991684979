"""Quantized pooling and softmax as integer arithmetic."""

from __future__ import annotations

from ...diagnostics import IrError
from ...ir import Expr
from ...ops.base import attributes_of, call
from ...ops.qnn.softmax import FRACTION_BITS, LARGEST_SHIFT, RESULT_BITS, steps_to_one
from ..core.arithmetic import add, multiply, subtract
from ..core.constants import scalar_constant
from .quantities import cast, clip_cast, in_output_terms, int32, number, requantize
from .rule import QNN_CANONICALIZE, LegalizationSite, legalization


@legalization(QNN_CANONICALIZE, "qnn.avg_pool2d")
def avg_pool2d(s: LegalizationSite) -> Expr:
    """The mean in int32 of the data in terms of the result, clipped."""
    data, scale, zero, out_scale, out_zero = s.args
    moved = in_output_terms(data, s.tensor(0).shape, scale, zero, out_scale, out_zero, s.target)
    return clip_cast(call("nn.avg_pool2d", moved, **attributes_of(s.attrs)), s.tensor(0).dtype)


@legalization(QNN_CANONICALIZE, "qnn.softmax")
def softmax(s: LegalizationSite) -> Expr:
    """Powers of two and shifts in place of exponentials; see the operator's manual."""
    data, scale, zero, out_scale, out_zero = s.args

    def along(reduction: str, e: Expr) -> Expr:
        return call(reduction, e, axis=[s.attrs.axis], keepdims=True, exclude=False)

    try:
        steps = steps_to_one(float(number(scale, "input scale of qnn.softmax")))
    except IrError as error:
        raise IrError(error.diagnostics[0].message, s.call.span) from None
    one = clip_cast(scalar_constant(float(steps), "float32"), "int32")
    shifted = subtract(cast(data, "int32"), zero)
    x = subtract(shifted, along("max", shifted))
    log2 = subtract(add(x, call("right_shift", x, int32(1))), call("right_shift", x, int32(4)))
    minus_one = call("negative", one)
    q = call("clip", call("divide", log2, minus_one), a_min=0.0, a_max=float(LARGEST_SHIFT))
    rest = subtract(log2, multiply(q, minus_one))
    linear = add(call("right_shift", rest, int32(1)), one)
    raised = call("left_shift", linear, subtract(along("max", q), q))
    total = along("sum", raised)
    shares = multiply(call("divide", int32(1 << FRACTION_BITS), total), raised)
    fraction = call("right_shift", shares, int32(FRACTION_BITS - RESULT_BITS))
    unit = scalar_constant(1 / (1 << RESULT_BITS), "float32")
    return requantize(fraction, s.tensor(0).shape, unit, int32(0), out_scale, out_zero, "int8", 0, target=s.target)
