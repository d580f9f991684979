"""Integer forms of operators on dequantized tensors, for exactly equal results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...deferred import np
from ...ir import Call, Constant, Expr
from ...ops.base import Operator, call
from ...ops.nn.geometry import pad_amounts, single_window
from ..core.constants import scalar_constant, single_value
from ..core.rule_table import RuleTable
from .tensors import QuantizedTensor

Operand = QuantizedTensor | Expr
ExactForm = Callable[[Call, Sequence[Operand], tuple[Any, ...]], QuantizedTensor | None]
"""`rule(call, operands, shape)`: the result as integers, of this shape; None if they do not give it exactly.

Operands are quantized tensors where they are dequantized, and expressions otherwise.
"""

_RULES: RuleTable[str, ExactForm] = RuleTable(__package__, "the exact integer form of")


def exact_form(*operators: str) -> Callable[[ExactForm], ExactForm]:
    """Decorator: files a rule for operators."""
    return _RULES.file(*operators)


def find_exact_form(operator: type[Operator]) -> ExactForm | None:
    """The rule of an operator, or None: its own, or that of operators that move or pick elements."""
    own = _RULES.find(operator.name)
    return _same if own is None and operator.integer_form == "same" else own


def derived(expr: Expr, like: QuantizedTensor, shape: tuple[Any, ...], **changes: Any) -> QuantizedTensor:
    """Integers that are quantized as others are."""
    own = {"dtype": like.dtype, "scale": like.scale, "zero": like.zero, "axis": like.axis, "bound": like.bound}
    return QuantizedTensor(expr, shape, **{**own, **changes})


def _same(e: Call, operands: Sequence[Operand], shape: tuple[Any, ...]) -> QuantizedTensor | None:
    """The operator itself, on the tensor that comes first."""
    x = operands[0]
    if not isinstance(x, QuantizedTensor) or not x.is_uniform:
        return None
    if any(isinstance(o, QuantizedTensor) for o in operands[1:]):
        return None
    return derived(Call(e.op, (x.expr, *e.args[1:]), e.attrs), x, shape)


@exact_form("take", "nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d", "broadcast_to")
def moves_elements(e: Call, operands: Sequence[Operand], shape: tuple[Any, ...]) -> QuantizedTensor | None:
    """The operator on integers; padding of a pool is never the largest."""
    return _same(e, operands, shape)


@exact_form("transpose")
def transpose(e: Call, operands: Sequence[Operand], shape: tuple[Any, ...]) -> QuantizedTensor | None:
    """The axis of scales moves, too."""
    x = operands[0]
    if not isinstance(x, QuantizedTensor):
        return None
    rank = len(x.shape)
    axes = [a % rank for a in e.attrs.axes] if e.attrs.axes else list(range(rank))[::-1]
    axis = 0 if x.is_uniform else axes.index(x.axis)
    return derived(Call(e.op, (x.expr,), e.attrs), x, shape, axis=axis)


@exact_form("nn.relu")
def relu(e: Call, operands: Sequence[Operand], shape: tuple[Any, ...]) -> QuantizedTensor | None:
    """The maximum with the zero point."""
    x = operands[0]
    if not isinstance(x, QuantizedTensor) or x.zero.ndim or not _holds(x, int(x.zero)):
        return None
    return derived(call("maximum", x.expr, scalar_constant(int(x.zero), x.dtype)), x, shape)


def _holds(x: QuantizedTensor, value: int) -> bool:
    bounds = np.iinfo(x.dtype)
    return bool(bounds.min <= value <= bounds.max)


@exact_form("nn.pad")
def pad(e: Call, operands: Sequence[Operand], shape: tuple[Any, ...]) -> QuantizedTensor | None:
    """Zeros are zero points."""
    x, value = operands
    if not isinstance(x, QuantizedTensor) or not x.is_uniform or e.attrs.pad_mode != "constant":
        return None
    if _value(value) != 0 or not _holds(x, int(x.zero)):
        return None
    padded = Call(e.op, (x.expr, scalar_constant(int(x.zero), x.dtype)), e.attrs)
    return derived(padded, x, shape, bound=max(x.bound, abs(int(x.zero))))


def _value(e: Operand) -> float | None:
    """The only element of a constant, dequantized or not."""
    if not isinstance(e, QuantizedTensor):
        return single_value(e)
    if not isinstance(e.expr, Constant) or not e.is_uniform:
        return None
    number = single_value(e.expr)
    return None if number is None else (number - int(e.zero)) * float(e.scale)


@exact_form("nn.global_avg_pool2d")
def global_average(e: Call, operands: Sequence[Operand], shape: tuple[Any, ...]) -> QuantizedTensor | None:
    """The sum, whose scale is that of the elements over their number."""
    (x,) = operands
    if not isinstance(x, QuantizedTensor) or not x.is_uniform or e.attrs.layout not in ("NCHW", "NHWC"):
        return None
    axes = [e.attrs.layout.index(a) for a in "HW"]
    extents = [x.shape[a] for a in axes]
    if not all(isinstance(n, int) for n in extents):
        return None
    count = extents[0] * extents[1]
    bound = (x.bound + abs(int(x.zero))) * count
    if bound >= 2**31 or not count:
        return None
    shifted = call("cast", x.expr, dtype="int32")
    if x.zero:
        shifted = call("subtract", shifted, scalar_constant(int(x.zero), "int32"))
    total = call("sum", shifted, axis=axes, keepdims=True, exclude=False)
    scale, zero = np.asarray(x.scale / np.float32(count)), np.zeros((), np.int32)
    return QuantizedTensor(total, shape, "int32", scale, zero, 0, bound)


@exact_form("nn.avg_pool2d")
def average(e: Call, operands: Sequence[Operand], shape: tuple[Any, ...]) -> QuantizedTensor | None:
    """The form of a window over the full image, as `nn.global_avg_pool2d`."""
    (x,) = operands
    if not isinstance(x, QuantizedTensor) or e.attrs.count_include_pad or e.attrs.layout not in ("NCHW", "NHWC"):
        return None
    pads: Any = pad_amounts(e.attrs.padding, 2)
    for n, letter in enumerate("HW"):
        axis = e.attrs.layout.index(letter)
        size, kernel, out = x.shape[axis], e.attrs.pool_size[n], shape[axis]
        if not isinstance(size, int) or single_window(size, kernel, pads[n], e.attrs.dilation[n], out) != size:
            return None
    return global_average(e, operands, shape)


def concatenation(e: Call, pieces: Sequence[QuantizedTensor], shape: tuple[Any, ...]) -> QuantizedTensor | None:
    """The pieces, where all are quantized alike. (Its argument is a tuple, which is why it is no rule of the table.)"""
    from ...ir import Tuple

    first = pieces[0]
    if not first.is_uniform or not all(p.is_quantized_like(first) for p in pieces[1:]):
        return None
    whole = Call(e.op, (Tuple(tuple(p.expr for p in pieces)),), e.attrs)
    return derived(whole, first, shape, bound=max(p.bound for p in pieces))
