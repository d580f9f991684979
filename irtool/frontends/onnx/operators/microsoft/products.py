"""Matrix products and convolutions fused with bias and activation by ONNX Runtime's optimizer."""

from __future__ import annotations

from collections.abc import Sequence

from .....diagnostics import IrError
from ...arithmetic import add, multiply
from ...mistakes import UnsupportedNode
from ...operator import OnnxOperator, Result, onnx_operator, since
from ...sliding import NO_INTS
from ...value import Value
from ..convolution import convolve
from ..products import batched_product, matrix_product


@onnx_operator("com.microsoft.FusedMatMul")
class FusedMatMul(OnnxOperator):
    """`alpha` times the product of two tensors of matrices, each of which may be transposed."""

    @since(1)
    def product(
        self,
        a: Value,
        b: Value,
        *,
        alpha: float = 1.0,
        transA: int = 0,
        transB: int = 0,
        transBatchA: int = 0,
        transBatchB: int = 0,
    ) -> Result:
        left, right = _transpose_operand(a, transA, transBatchA), _transpose_operand(b, transB, transBatchB)
        product = matrix_product(left, right) if right.rank == 2 else batched_product(left, right)
        return product if alpha == 1 else multiply(product, alpha)


def _transpose_operand(x: Value, transposed: int, batches: int) -> Value:
    """With `batches`, the first axis goes behind the batches; with `transposed`, the last two change places."""
    order = list(range(x.rank))
    if batches and x.rank > 2:
        order = [*order[1:-1], order[0], order[-1]]
    if transposed and x.rank > 1:
        order = [*order[:-2], order[-1], order[-2]]
    return x if order == list(range(x.rank)) else x.call("transpose", axes=order)


def activated(x: Value, name: str, parameters: Sequence[float]) -> Value:
    """An activation by its name in ONNX, with its parameters in the order of its attributes."""
    plain = {"": None, "Relu": "nn.relu", "Tanh": "tanh", "Sigmoid": "sigmoid"}
    if name in plain:
        operator = plain[name]
        return x if operator is None else x.call(operator)
    if name == "LeakyRelu":
        return x.call("nn.leaky_relu", alpha=(*parameters, 0.01)[0])
    if name == "Clip" and len(parameters) == 2:
        return x.call("clip", a_min=parameters[0], a_max=parameters[1])
    if name == "HardSigmoid":
        alpha, beta = (*parameters, *(0.2, 0.5)[len(parameters) :])[:2]
        return add(multiply(x, alpha), beta).call("clip", a_min=0.0, a_max=1.0)
    raise IrError(f"the activation {name} of a fused operator is not known", code=UnsupportedNode)


@onnx_operator("com.microsoft.FusedGemm")
class FusedGemm(OnnxOperator):
    """An activation of `alpha * a * b + beta * c`."""

    @since(1)
    def product(
        self,
        a: Value,
        b: Value,
        c: Value | None = None,
        *,
        activation: str = "",
        activation_alpha: float | None = None,
        activation_beta: float | None = None,
        activation_gamma: float | None = None,
        alpha: float = 1.0,
        beta: float = 1.0,
        transA: int = 0,
        transB: int = 0,
    ) -> Result:
        product = matrix_product(_transpose_operand(a, transA, 0), _transpose_operand(b, transB, 0))
        product = product if alpha == 1 else multiply(product, alpha)
        if c is not None and beta:
            product = add(product, c if beta == 1 else multiply(c, beta))
        parameters = [p for p in (activation_alpha, activation_beta, activation_gamma) if p is not None]
        return activated(product, activation, parameters)


@onnx_operator("com.microsoft.FusedConv", "com.microsoft.NhwcFusedConv")
class FusedConv(OnnxOperator):
    """An activation of a convolution plus a tensor; of NhwcFusedConv the channels are the last axis."""

    @since(1)
    def convolution(
        self,
        x: Value,
        w: Value,
        b: Value | None = None,
        z: Value | None = None,
        *,
        activation: str = "",
        activation_params: tuple[float, ...] = (),
        auto_pad: str = "NOTSET",
        dilations: tuple[int, ...] = NO_INTS,
        group: int = 1,
        kernel_shape: tuple[int, ...] = NO_INTS,
        pads: tuple[int, ...] = NO_INTS,
        strides: tuple[int, ...] = NO_INTS,
    ) -> Result:
        last = self.node.key.op_type == "NhwcFusedConv"
        data = channels_first(x) if last else x
        product = convolve(data, w, kernel_shape, strides, pads, dilations, group, auto_pad)
        product = product if b is None else product.call("nn.bias_add", b, axis=1)
        product = channels_last(product) if last else product
        return activated(product if z is None else add(product, z), activation, activation_params)


@onnx_operator("com.microsoft.NhwcConv")
class NhwcConv(OnnxOperator):
    """A convolution of images whose channels are the last axis; weights are `(M, C / group, …)`."""

    @since(1)
    def convolution(
        self,
        x: Value,
        w: Value,
        b: Value | None = None,
        *,
        auto_pad: str = "NOTSET",
        dilations: tuple[int, ...] = NO_INTS,
        group: int = 1,
        kernel_shape: tuple[int, ...] = NO_INTS,
        pads: tuple[int, ...] = NO_INTS,
        strides: tuple[int, ...] = NO_INTS,
    ) -> Result:
        product = convolve(channels_first(x), w, kernel_shape, strides, pads, dilations, group, auto_pad)
        return channels_last(product if b is None else product.call("nn.bias_add", b, axis=1))


def channels_first(x: Value) -> Value:
    """The last axis put behind the first."""
    return x.call("transpose", axes=[0, x.rank - 1, *range(1, x.rank - 1)])


def channels_last(x: Value) -> Value:
    """The second axis put at the end."""
    return x.call("transpose", axes=[0, *range(2, x.rank), 1])
