"""CUTLASS: products of matrices and convolutions on tensor cores, with their epilogues."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ....ir import Call
from ....ops.dtypes import dtype_of
from ...dataflow import DFPattern, is_constant, is_op, wildcard
from .library import Check, Composite, Library, find_call, first_call, tensor


def _composites() -> Sequence[Composite]:
    dense = is_op("nn.dense")(wildcard(), wildcard())
    biased_dense = _biased(dense)
    products: list[Composite] = [
        ("cutlass.dense_bias_gelu_fp16", _gelu(biased_dense, in_float32=True), _dense),
        ("cutlass.dense_bias_gelu_fp32", _gelu(biased_dense, in_float32=False), _dense),
        ("cutlass.dense_bias_relu", is_op("nn.relu")(biased_dense), _dense),
        ("cutlass.dense_bias", biased_dense, _dense),
        ("cutlass.dense", dense, _dense),
        ("cutlass.batch_matmul", is_op("nn.batch_matmul")(wildcard(), wildcard()), _batch_matmul),
    ]
    conv2d = is_op("nn.conv2d")(wildcard(), wildcard())
    conv = _biased(conv2d)
    clipped = is_op("clip")(is_op("add")(conv, is_constant()))
    activated = {
        "cutlass.conv2d_bias_hardswish": is_op("multiply")(conv, is_op("divide")(clipped, is_constant())),
        "cutlass.conv2d_bias_silu": is_op("multiply")(conv, is_op("sigmoid")(conv)),
        "cutlass.conv2d_bias_relu": is_op("nn.relu")(conv),
        "cutlass.conv2d_bias_sigmoid": is_op("sigmoid")(conv),
        "cutlass.conv2d_bias": conv,
    }
    convolutions: list[Composite] = [(name, p, _conv2d) for name, p in {**activated, "cutlass.conv2d": conv2d}.items()]
    transposed = is_op("nn.conv2d_transpose")(wildcard(), wildcard())
    of_weights = is_op("nn.conv2d_backward_weight")(wildcard(), wildcard())
    gradients: list[Composite] = [
        ("cutlass.conv2d_transpose", transposed, _convolution("nn.conv2d_transpose", "IHWO")),
        ("cutlass.conv2d_backward_weight", of_weights, _convolution("nn.conv2d_backward_weight", "NHWC")),
    ]
    residual: list[Composite] = []
    for is_relu in (True, False):
        for name, pattern in activated.items():
            for operator in ("add", "multiply"):
                other = wildcard()
                sum = is_op(operator)(pattern, other) | is_op(operator)(other, pattern)
                whole = is_op("nn.relu")(sum) if is_relu else sum
                suffix = "_relu" if is_relu else ""
                residual.append((f"{name}_residual_{operator}{suffix}", whole, partial(_residual, operator)))
    return residual + products + convolutions + gradients


def _biased(y: DFPattern) -> DFPattern:
    return (is_op("add") | is_op("nn.bias_add"))(y, wildcard())


def _gelu(y: DFPattern, in_float32: bool) -> DFPattern:
    """y (1 + erf(y / sqrt 2)) / 2, as it comes from front ends."""
    scaled = is_op("multiply")(y, is_constant() | wildcard())
    erf = is_op("cast")(is_op("erf")(is_op("cast")(scaled))) if in_float32 else is_op("erf")(scaled)
    half = is_op("multiply")(erf, is_constant() | wildcard())
    return is_op("multiply")(is_op("add")(half, is_constant() | wildcard()), y)


def _fits(e: Call) -> bool:
    dtypes = (dtype_of(e.args[0]), dtype_of(e.args[1]))
    return dtypes in (("float16", "float16"), ("float32", "float32")) or {*dtypes} <= {"int8", "uint8"}


def _dense(e: Call) -> bool:
    return _fits(find_call(e, "nn.dense"))


def _batch_matmul(e: Call) -> bool:
    return _fits(e) and not e.attrs.transpose_a and bool(e.attrs.transpose_b)


def _convolution(name: str, kernel_layout: str) -> Check:
    """The condition on a convolution whose weights are in that layout: channels come last, and it is not depthwise."""

    def check(e: Call) -> bool:
        conv = find_call(e, name)
        if (conv.attrs.data_layout, conv.attrs.kernel_layout) != ("NHWC", kernel_layout) or not _fits(conv):
            return False
        channels, outer = tensor(conv.args[0]).shape[3], tensor(conv.args[1]).shape[0]
        return not channels == outer == conv.attrs.groups

    return check


_conv2d = _convolution("nn.conv2d", "OHWI")


def _residual(operator: str, e: Call) -> bool:
    """True if the addend has the result's shape, and does not come from the same convolution itself."""
    lhs, rhs = find_call(e, operator).args
    sources = [first_call(side, "nn.conv2d") for side in (lhs, rhs)]
    conv = next((s for s in sources if s is not None), None)
    if conv is None or not _conv2d(conv) or sources[0] is sources[1]:
        return False
    return tensor(lhs).shape == tensor(rhs).shape


LIBRARY = Library("cutlass", _composites)
