"""Products of integer tensors minus their zero points, exactly, in int32."""

from __future__ import annotations

import math

from ...deferred import np
from ...diagnostics import IrError
from .mistakes import DamagedModel
from .quantities import Quantities, dynamically_quantized, one_if_equal, product, real
from .reshaping import reshaped
from .value import Value, apply


def integer_matmul(a: Value, b: Value, a_zero: Value, b_zero: Value) -> Value:
    """`(a - a_zero) @ (b - b_zero)` as numpy's matmul has ranks and broadcasting; zero points are int32 scalars or broadcast."""
    rows, columns = a.rank == 1, b.rank == 1
    a = a.call("expand_dims", axis=0) if rows else a
    b = b.call("expand_dims", axis=1) if columns else b
    if a.rank < 2 or b.rank < 2:
        raise IrError("a product of matrices needs operands of rank 1 at least")
    out = _matrices(a, b, a_zero, b_zero)
    axes = [-2] * rows + [-1] * columns
    return out.call("squeeze", axis=axes) if axes else out


def _matrices(a: Value, b: Value, a_zero: Value, b_zero: Value) -> Value:
    if a_zero.rank:
        a, a_zero = _shifted(a, a_zero)
    by_column = b.rank == 2 and b_zero.rank == 1 and a.dtype != "int32"
    if (b_zero.rank and not by_column) or (a.dtype == "int32" and b.dtype != "int32"):
        b, b_zero = _shifted(b, b_zero)
    if b.dtype == "int32" and a.dtype != "int32":
        a, a_zero = _shifted(a, a_zero)
    if b.rank == 2:
        return _dense(a, b, a_zero, b_zero)
    return _batched(a, b, a_zero, b_zero)


def _shifted(x: Value, zero: Value) -> tuple[Value, Value]:
    return apply("subtract", x.call("cast", dtype="int32"), zero), Value.constant(np.int32(0))


def _dense(a: Value, b: Value, a_zero: Value, b_zero: Value) -> Value:
    """A product with one matrix for all: a dense layer."""
    shape = a.shape
    depth, units = b.shape
    weights = b.call("transpose", axes=[1, 0])
    rows = -1 if 0 not in shape else math.prod(a.extents("an operand of a product")[:-1])
    flat = a if a.rank == 2 else reshaped(a, [rows, depth])
    if a.dtype == "int32":
        out = apply("nn.dense", flat, weights, units=units, out_dtype="int32")
    else:
        scale = Value.constant(np.float32(1))
        out = apply("qnn.dense", flat, weights, a_zero, b_zero, scale, scale, units=units, out_dtype="int32")
    return out if a.rank == 2 else reshaped(out, [*_known_or_rest(shape[:-1]), units])


def _known_or_rest(shape: tuple) -> list[int]:
    if sum(not isinstance(d, int) for d in shape) > 1:
        raise IrError(f"a product of a tensor of shape {shape} needs more of its extents to be known")
    return [d if isinstance(d, int) else -1 for d in shape]


def _batched(a: Value, b: Value, a_zero: Value, b_zero: Value) -> Value:
    left, right = a.extents("an operand of a product"), b.extents("an operand of a product")
    try:
        batch = tuple(np.broadcast_shapes(left[:-2], right[:-2]))
    except ValueError:
        raise IrError(f"products of {a.tensor} and {b.tensor}: axes do not broadcast", code=DamagedModel) from None
    count = math.prod(batch)

    def three(x: Value, shape: tuple[int, ...]) -> Value:
        target = (*batch, *shape[-2:])
        x = x if shape == target else x.call("broadcast_to", shape=target)
        return reshaped(x, [count, *shape[-2:]])

    x, y = three(a, left), three(b, right).call("transpose", axes=[0, 2, 1])
    if a.dtype == "int32":
        out = apply("nn.batch_matmul", x, y, transpose_b=True, out_dtype="int32")
    else:
        scale = Value.constant(np.float32(1))
        out = apply("qnn.batch_matmul", x, y, a_zero, b_zero, scale, scale, transpose_b=True, out_dtype="int32")
    return reshaped(out, [*batch, left[-2], right[-1]])


def dynamic_product(x: Value, weights: Value, scale: Value, zero: Value | None, bias: Value | None = None) -> Value:
    """Real numbers, quantized with a scale of their own, times weights of 8 bits, in real numbers again."""
    a, a_scale, a_zero = dynamically_quantized(x)
    q = Quantities.of(scale, zero)
    sums = integer_matmul(a, weights, a_zero.call("cast", dtype="int32"), one_if_equal(q.zero))
    out = real(sums, product(a_scale, q.scale))
    return out if bias is None else apply("add", out, bias)
