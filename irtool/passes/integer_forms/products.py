"""Products and convolutions of dequantized bytes as those of bytes, in int32, where no sum leaves 32 bits.

A sum of K products, less what zero points have in it, is four sums (`qnn.CanonicalizeOps`). Each of them, and so every partial
sum in between, has to fit; bounds come from the types of the data and from the weights themselves where they are constants. A
bias with the scale of the products is added in int32, if that fits as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ...deferred import np
from ...ir import Call, Constant
from ...ops.base import attributes_of, call
from ...ops.layout import Layout
from ...ops.qnn.fixed_point import INT32_HIGH
from ..core.constants import array_constant, has_data
from .rules import Operand, derived, exact_form
from .tensors import BYTES, QuantizedTensor, are_normal

_LIKE = 1e-6
"""How far, relative, the scale of a bias may be from that of the sums: quantizers compute it as their product, in one or other order."""


@exact_form("nn.conv2d", "nn.conv2d_transpose")
def convolution(e: Call, operands: Sequence[Operand], shape: tuple[Any, ...]) -> QuantizedTensor | None:
    """The quantized convolution; scales of weights lie along the output channels."""
    x, w = operands
    if not (isinstance(x, QuantizedTensor) and isinstance(w, QuantizedTensor)):
        return None
    attrs = e.attrs
    kernel = attrs.kernel_layout
    if e.op_name == "nn.conv2d":
        out, groups = kernel.index("O") if len(kernel) == 4 else -1, 1
    else:
        out, groups = kernel.index("O") if len(kernel) == 4 else -1, attrs.groups
    if out < 0 or groups != 1 or len(attrs.data_layout) != 4 or attrs.kernel_size is None:
        return None
    if not x.is_uniform or not _is_by_channel(w, out) or (e.op_name == "nn.conv2d_transpose" and int(np.any(w.zero))):
        return None
    steps = prod(w.shape) // w.shape[out]
    channel = Layout.parse(attrs.out_layout or attrs.data_layout).index("C")
    product = _product(f"qnn.{e.op_name[3:]}", (x, w), steps, out, attributes_of(attrs, "out_dtype"))
    return None if product is None else _result(*product, x, w, shape, channel)


@exact_form("nn.dense")
def dense(e: Call, operands: Sequence[Operand], shape: tuple[Any, ...]) -> QuantizedTensor | None:
    """The quantized dense layer."""
    x, w = operands
    if not (isinstance(x, QuantizedTensor) and isinstance(w, QuantizedTensor)):
        return None
    if not x.is_uniform or not _is_by_channel(w, 0):
        return None
    product = _product("qnn.dense", (x, w), w.shape[1], 0, {"units": w.shape[0]})
    return None if product is None else _result(*product, x, w, shape, len(shape) - 1)


@exact_form("nn.batch_matmul")
def batch_matmul(e: Call, operands: Sequence[Operand], shape: tuple[Any, ...]) -> QuantizedTensor | None:
    """The quantized product, which takes the second operand transposed."""
    x, y = operands
    if not (isinstance(x, QuantizedTensor) and isinstance(y, QuantizedTensor)) or not (x.is_uniform and y.is_uniform):
        return None
    left = call("transpose", x.expr, axes=[0, 2, 1]) if e.attrs.transpose_a else x.expr
    right = y.expr if e.attrs.transpose_b else call("transpose", y.expr, axes=[0, 2, 1])
    steps = x.shape[1 if e.attrs.transpose_a else 2]
    moved = (derived(left, x, x.shape), derived(right, y, y.shape))
    product = _product("qnn.batch_matmul", moved, steps, 0, {"transpose_a": False, "transpose_b": True})
    return None if product is None else _result(*product, x, y, shape, 0)


def _is_by_channel(w: QuantizedTensor, axis: int) -> bool:
    return w.is_uniform or w.axis == axis


def _product(
    name: str, operands: tuple[QuantizedTensor, QuantizedTensor], steps: Any, axis: int, attributes: dict[str, Any]
) -> tuple[Call, int] | None:
    """A quantized product, and the bound of its elements; None if operands are no bytes or a sum may not fit."""
    x, w = operands
    if x.dtype not in BYTES or w.dtype not in BYTES or not isinstance(steps, int):
        return None
    bound = _sum_bound(x, w, steps, axis)
    if bound > INT32_HIGH:
        return None
    zeros = [array_constant(np.asarray(o.zero), "int32") for o in operands]
    scales = [array_constant(np.asarray(o.scale), "float32") for o in operands]
    return call(name, x.expr, w.expr, *zeros, *scales, out_dtype="int32", **attributes), bound


def _sum_bound(x: QuantizedTensor, w: QuantizedTensor, steps: int, axis: int) -> int:
    """An upper bound of the four sums together. `axis` is the weights' axis of results."""
    zero_x = int(np.abs(x.zero).max())
    if isinstance(w.expr, Constant) and has_data(w.expr):
        wide = np.abs(np.asarray(w.expr.data).astype(np.int64))
        sums = int(np.moveaxis(wide, axis, 0).reshape(wide.shape[axis], -1).sum(1).max(initial=0))
    else:
        sums = w.bound * steps
    zero_w = int(np.abs(w.zero).max())
    return (x.bound + zero_x) * (sums + zero_w * steps)


def _result(
    expr: Call, bound: int, x: QuantizedTensor, w: QuantizedTensor, shape: tuple[Any, ...], axis: int
) -> QuantizedTensor | None:
    with np.errstate(over="ignore", under="ignore"):
        scale = np.asarray(x.scale * w.scale)
    if not are_normal(scale):
        return None
    return QuantizedTensor(expr, shape, "int32", scale, np.zeros((), np.int32), axis, bound)


@exact_form("nn.bias_add")
def bias_add(e: Call, operands: Sequence[Operand], shape: tuple[Any, ...]) -> QuantizedTensor | None:
    """The sum in int32 with a bias of the same scale."""
    x, b = operands
    if not (isinstance(x, QuantizedTensor) and isinstance(b, QuantizedTensor)):
        return None
    axis = e.attrs.axis % len(shape)
    if x.dtype != "int32" or b.dtype != "int32" or np.any(x.zero) or np.any(b.zero):
        return None
    if not (isinstance(b.expr, Constant) and has_data(b.expr)) or not (x.is_uniform or x.axis == axis):
        return None
    if not np.allclose(x.scale, b.scale, rtol=_LIKE, atol=0):
        return None
    bound = x.bound + int(np.abs(np.asarray(b.expr.data).astype(np.int64)).max(initial=0))
    if bound > INT32_HIGH:
        return None
    return derived(Call(e.op, (x.expr, b.expr), e.attrs), x, shape, bound=bound)
