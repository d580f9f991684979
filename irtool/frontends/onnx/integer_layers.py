"""Sums and means of quantized tensors in integers, to a fraction of a step of their result.

`qnn.add` and an average of integers round each operand, or cut the quotient off, in steps of the result, so that they are one
step off ever so often, and what follows makes more of it. Here the operands are first multiplied by a power of two as great as
32 bits allow; what is rounded is then the result alone, as ONNX Runtime does it.
"""

from __future__ import annotations

import math
from typing import Any

from ...deferred import np
from ...ir import Call, Constant, Expr, Op
from ...ops.base import is_call_to
from ...ops.dtypes import bits
from .quantities import Quantities, requantized
from .value import Value, apply

_NARROW = ("int8", "uint8", "int16", "uint16")


def _fine_sum(a: Value, qa: Quantities, b: Value, qb: Quantities, name: str) -> tuple[Value, Value]:
    """The sum in int32 with zero point 0, and its scale."""
    room = 29 - max(bits(a.dtype), bits(b.dtype))
    scale = Value.constant(np.float32(max(float(_one(qa.scale)), float(_one(qb.scale))) / (1 << room)))
    fine = Quantities(scale, Value.constant(np.int32(0)))

    def moved(x: Value, q: Quantities) -> Value:
        return x.call("qnn.requantize", q.scale, q.zero, fine.scale, fine.zero, out_dtype="int32")

    return apply(name, moved(a, qa), moved(b, qb)), scale


def _fine_mean(x: Value, q: Quantities, window: int, pool: Any) -> tuple[Value, Value] | None:
    room = 30 - bits(x.dtype) - math.ceil(math.log2(max(window, 1)))
    if room < _FEWEST_BITS:
        return None
    shifted = apply("subtract", x.call("cast", dtype="int32"), q.zero)
    fine = apply("left_shift", shifted, Value.constant(np.int32(room)))
    return pool(fine), Value.constant(np.float32(float(_one(q.scale)) / (1 << room)))


_FEWEST_BITS = 6
"""Bits behind the point of a mean, below which it is left in floating point."""


def integer_form(x: Value, to: Quantities, dtype: str) -> Value | None:
    """The integer form of a value that is about to be quantized: a sum or a mean of dequantized tensors, or its relu.

    None where it is anything else.
    """
    if not to.is_scalar or not to.is_known or dtype not in _NARROW:
        return None
    e = x.expr
    relu = is_call_to(e, "nn.relu")
    if relu:
        e = e.args[0]  # type: ignore[attr-defined]  # it is a call
    found = _fine_form(e)
    if found is None:
        return None
    fine, scale = found
    fine = apply("maximum", fine, Value.constant(np.int32(0))) if relu else fine
    return requantized(fine, scale, to, dtype)


def _fine_form(e: Expr) -> tuple[Value, Value] | None:
    if not isinstance(e, Call) or not isinstance(e.op, Op):
        return None
    operands = [_dequantized(a) for a in e.args]
    if any(o is None for o in operands):
        return None
    name = e.op.name
    if name in ("add", "subtract"):
        (a, qa), (b, qb) = operands  # type: ignore[misc]  # both are there
        return _fine_sum(a, qa, b, qb, name)
    window = _window(e)
    if window is None:
        return None
    ((x, q),) = operands  # type: ignore[misc]  # it is there
    return _fine_mean(x, q, window, lambda v: Value.of(Call(e.op, (v.expr,), e.attrs)))


def _window(e: Call) -> int | None:
    """Elements of each mean that a call takes; None if it takes none."""
    assert isinstance(e.op, Op)
    data = Value.of(e.args[0])
    if e.op.name == "nn.global_avg_pool2d":
        shape = data.shape[2:] if e.attrs.layout == "NCHW" else data.shape[1:-1]
    elif e.op.name in ("nn.avg_pool1d", "nn.avg_pool2d", "nn.avg_pool3d"):
        shape = tuple(e.attrs.pool_size)
    else:
        return None
    known = [d for d in shape if isinstance(d, int)]
    return math.prod(known) if len(known) == len(shape) else None


def _dequantized(e: Expr) -> tuple[Value, Quantities] | None:
    """What a dequantize with one scale takes; None for anything else."""
    if not is_call_to(e, "qnn.dequantize"):
        return None
    data, scale, zero = (Value.of(a) for a in e.args)  # type: ignore[attr-defined]  # it is a call
    q = Quantities(scale, zero)
    known = isinstance(scale.expr, Constant) and isinstance(zero.expr, Constant)
    if not known or not q.is_scalar or data.dtype not in _NARROW:
        return None
    return data, q


def _one(x: Value) -> Any:
    return x.array("a scale").reshape(())
