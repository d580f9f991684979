"""UnfoldScaleAxis: scales that are computed go back from large weights to small data, and all scales from packed weights."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Call, Constant, Expr, Function, Module, rewrite
from ..ops.base import call, is_call_to
from .core.base import FunctionPass, register_pass
from .core.context import PassContext
from .core.extents import extents_of, is_smaller


@register_pass("UnfoldScaleAxis", level=3, required=("InferType",))
@dataclass(frozen=True)
class UnfoldScaleAxis(FunctionPass):
    """Scales the data of a convolution or dense layer in place of its constant weights, where these are more.

    ::

        nn.conv2d(%x, multiply(meta[relay.Constant][0], %s))   ⇒   nn.conv2d(multiply(%x, %s), meta[relay.Constant][0])
        nn.dense(%x, multiply(meta[relay.Constant][0], %s))    ⇒   nn.dense(multiply(%x, %s), meta[relay.Constant][0])
        nn.dense(%x, multiply(qnn.dequantize_blocks(…), %s))   ⇒   nn.dense(multiply(%x, %s), qnn.dequantize_blocks(…))

    ForwardFoldScaleAxis moves every scale into the weights. One that is computed from the inputs is multiplied anew in each run,
    and the weights are constants no more; weights in blocks stay packed, and would be multiplied anew with any scale. The scale must vary along the input channels only, and the convolution must have
    one group, and its data and weights in the layouts NCHW and OIHW.
    """

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        scaled_data: dict[tuple[Expr, Expr], Expr] = {}
        return rewrite(function, lambda old, new: _leave(old, new, scaled_data))


def _leave(old: Expr, new: Expr, scaled_data: dict[tuple[Expr, Expr], Expr]) -> Expr:
    """The call with the scales of its weights on its data and its result; calls of the same data and scale share the product of both."""
    scales = _scales(old)
    if not scales or not isinstance(new, Call):
        return new
    data, weights = new.args
    of_results: list[Expr] = []
    for s in scales:
        assert isinstance(weights, Call)
        scale, weights = weights.args[1 - s.weights], weights.args[s.weights]
        if s.of_result:
            of_results.append(scale)
        else:
            key = (data, scale)
            data = scaled_data[key] if key in scaled_data else scaled_data.setdefault(key, call("multiply", *key))
    result: Expr = Call(new.op, (data, weights), new.attrs, new.type_args, new.span)
    behind = [-1] if is_call_to(new, "nn.dense") else [-1, 1, 1]
    for scale in of_results:
        result = call("multiply", result, call("reshape", scale, newshape=behind))
    return result


@dataclass(frozen=True)
class _Scale:
    """A factor of a call's weights.

    Attributes:
        weights: the position of the other factor in the product.
        of_result: it varies along the output channels.
    """

    weights: int
    of_result: bool


def _scales(e: Expr) -> list[_Scale]:
    """The factors of a call's weights, from the outermost one on, if they are better on its data and its result; none otherwise."""
    if not isinstance(e, Call) or not is_call_to(e, "nn.conv2d", "nn.dense"):
        return []
    if is_call_to(e, "nn.conv2d") and (
        e.attrs.groups != 1 or e.attrs.data_layout != "NCHW" or e.attrs.kernel_layout != "OIHW"
    ):
        return []
    data, weights = e.args
    scales: list[_Scale] = []
    is_computed = True
    while isinstance(weights, Call) and is_call_to(weights, "multiply"):
        scale = next(filter(None, (_scale(data, weights, position) for position in (0, 1))), None)
        if scale is None:
            return []
        is_computed = is_computed and not isinstance(weights.args[1 - scale.weights], Constant)
        scales.append(scale)
        weights = weights.args[scale.weights]
    if is_call_to(weights, "qnn.dequantize_blocks"):
        return scales
    few = all(_is_smaller(e if s.of_result else data, weights) for s in scales)
    return scales if isinstance(weights, Constant) and is_computed and few else []


def _scale(data: Expr, product: Call, position: int) -> _Scale | None:
    """A factor of weights that varies along the input channels, which the data has as well, or along the output channels only."""
    read, shape, by = (extents_of(x) for x in (data, product.args[position], product.args[1 - position]))
    if read is None or shape is None or by is None or len(read) != len(shape) or len(by) > len(shape):
        return None
    wide = (1,) * (len(shape) - len(by)) + by
    if all(n == 1 or axis == 1 for axis, n in enumerate(wide)) and wide[1] in (1, shape[1]) and read[1] == shape[1]:
        return _Scale(position, False)
    return _Scale(position, True) if wide[0] == shape[0] and all(n == 1 for n in wide[1:]) else None


def _is_smaller(tensor: Expr, weights: Expr) -> bool:
    extents, shape = extents_of(tensor), extents_of(weights)
    return extents is not None and shape is not None and is_smaller(extents, shape)
