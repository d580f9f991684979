"""64-bit integers for lanes of 32-bit numbers: two vectors, for the even lanes and for the odd ones.

    int32((int64(x) * int64(m) + half) >> n)

The bits of a vector of int32 are those of half as many int64, whose lower halves are every second number; a shift by 32 bits
gives the others. Processors multiply lower halves to 64 bits in one instruction, and a mask and a shift join the results. Nothing
crosses the lanes, and no vector is longer than a register.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...tir import dtypes
from ...tir.expr import Binary, Cast, Const, Expr, Load, Select, Var, children, const
from . import ir
from .ir import Arithmetic, Bitcast, Body, Compare, LoadVector, Shift, Splat, Value
from .lanes import LaneLowering
from .types import Scalar, VectorType

WIDE = ("int64", "uint64")
LEAST_LANES = 4
"""The fewest lanes: two are a single one of 64 bits, which is no vector."""

_COMPARISONS = ("<", "<=", "==", "!=")
_EXTREMES = ("min", "max")
_OPERATIONS = ("+", "-", "*", "&", "|", "^", "<<", ">>", *_EXTREMES)
_INT32 = dtypes.int_range("int32")


@dataclass(eq=False)
class Parts:
    """The even lanes and the odd ones. `low`: only the lower 32 bits of each are valid, as a number of `source`."""

    even: Value
    odd: Value
    low: bool = False
    source: str = "int32"
    whole: Parts | None = None
    """For `low` parts: the same as 64 bits, once they are needed."""

    def name(self) -> None:
        """Marks both as used more than once."""
        self.even.named = self.odd.named = True


def each(make: Callable[..., Value], *operands: Parts) -> Parts:
    """The results of the even parts and of the odd ones."""
    return Parts(make(*(p.even for p in operands)), make(*(p.odd for p in operands)))


def find_wide(order: Sequence[Expr], varies: Callable[[Expr], bool]) -> set[Expr]:
    """The varying nodes that are computed in parts: all 64-bit ones, and comparisons of these.

    Empty without such nodes, or if some have no such form, such as floats, or are not converted to shorter numbers in the end.
    """
    wide: set[Expr] = set()
    for e in order:
        if not varies(e):
            continue
        if e.dtype in WIDE:
            if not _has_parts(e, varies):
                return set()
            wide.add(e)
        elif not isinstance(e, Load) and any(k.dtype in WIDE for k in children(e)):
            if isinstance(e, Binary) and e.op in _COMPARISONS:
                wide.add(e)
            elif not isinstance(e, Cast) or dtypes.is_float(e.dtype) or e.dtype == "bool":
                return set()
    return wide if wide and order[-1].dtype not in WIDE else set()


def _has_parts(e: Expr, varies: Callable[[Expr], bool]) -> bool:
    if isinstance(e, Cast):
        return not dtypes.is_float(e.value.dtype) and dtypes.bits(e.value.dtype) <= 32
    if isinstance(e, Select):
        return not e.lazy and varies(e.cond)
    return isinstance(e, Load) or (isinstance(e, Binary) and e.op in _OPERATIONS)


class WideLowering:
    """Builds the parts of one expression's nodes; `values` are the vectors of the others."""

    def __init__(self, lowering: LaneLowering, body: Body, values: dict[Expr, Value], uses: dict[Expr, int]) -> None:
        self.lowering = lowering
        self.body = body
        self.values = values
        self.uses = uses
        self.parts: dict[Expr, Parts] = {}

    def make(self, e: Expr) -> None:
        """Builds the parts of a node with known operands."""
        parts = self._node(e)
        if self.uses.get(e, 0) > 1 and not isinstance(e, Const | Var):
            parts.name()
        self.parts[e] = parts

    def join(self, e: Expr) -> None:
        """Builds a vector of int32 from the lower halves of a node's parts; for a comparison, a mask."""
        parts = self._whole(self.parts[e])
        t = parts.even.type
        low, high = self._lower(parts.even), self._add(Shift(t, "<<", parts.odd, 32))
        both = self._add(Arithmetic(t, "|", low, high))
        joined = self._add(Bitcast(VectorType("int32", 2 * t.lanes), both))
        joined.named = True
        self.values[e] = joined

    def _add(self, value: Value) -> Value:
        self.body.steps.append(value)
        return value

    def _type(self, dtype: str) -> VectorType:
        return VectorType(dtype, self.lowering.lanes // 2)

    def _apply(self, name: str, dtype: str, *args: Value) -> Value:
        t = self._type(dtype)
        return self._add(ir.Apply(t, (name, *t), args))

    def _node(self, e: Expr) -> Parts:
        if not self.lowering.varies(e):
            splat = self._add(Splat(self._type(e.dtype), e))
            splat.named = not isinstance(e, Const)
            return Parts(splat, splat)
        if isinstance(e, Cast):
            return self._cast(e)
        if isinstance(e, Load):
            return self._load(e)
        if isinstance(e, Select):
            return self._select(e)
        assert isinstance(e, Binary)
        return self._binary(e)

    def _cast(self, e: Cast) -> Parts:
        value, source = self.values[e.value], e.value.dtype
        if source not in ("int32", "uint32"):
            value, source = self._add(self.lowering.cast(Cast(e.value, "int32"), value, self.body)), "int32"
        return self._split(value, source)

    def _split(self, value: Value, source: str) -> Parts:
        """The lower halves of a vector of 32-bit numbers."""
        value.named = True
        i, u = self._type("int64"), self._type("uint64")
        high = self._add(Shift(u, ">>", self._add(Bitcast(u, value)), 32))
        even, odd = self._add(Bitcast(i, value)), self._add(Bitcast(i, high))
        parts = Parts(even, odd, low=True, source=source)
        parts.name()
        return parts

    def _whole(self, parts: Parts) -> Parts:
        if not parts.low:
            return parts
        if parts.whole is None:
            signed = parts.source == "int32"
            parts.whole = each(lambda p: self._apply("extend", "int64", p) if signed else self._lower(p), parts)
            parts.whole.name()
        return parts.whole

    def _lower(self, value: Value) -> Value:
        """The lower 32 bits, the upper ones 0."""
        ones = self._add(Splat(value.type, const(0xFFFFFFFF, "int64")))
        return self._add(Arithmetic(value.type, "&", value, ones))

    def _load(self, e: Load) -> Parts:
        """Neighbours in memory: every second one from the first on, and from the second on."""
        index = e.indices[0] if e.indices else const(0)
        count = self.lowering.count
        if self.lowering.register(e) is not None or self.lowering.stride(index) != 1 or count != self.lowering.lanes:
            raise Scalar
        base, t = self.lowering.base(index), self._type(e.dtype)
        loads = [LoadVector(t, e.source, base + n if n else base, 2, t.lanes) for n in (0, 1)]
        return Parts(self._add(loads[0]), self._add(loads[1]))

    def _select(self, e: Select) -> Parts:
        if e.cond in self.parts:
            masks = self._whole(self.parts[e.cond])
        else:
            masks = self._whole(self._split(self.lowering.masked(self.values[e.cond], 32, self.body), "int32"))
        then, other = self._whole(self.parts[e.then]), self._whole(self.parts[e.other])
        return each(lambda *args: self._apply("select", e.dtype, *args), masks, then, other)

    def _binary(self, e: Binary) -> Parts:
        dtype = e.a.dtype
        a, b = self.parts[e.a], self.parts[e.b]
        if e.op == "*" and self._is_short(e.a) and self._is_short(e.b):
            return each(lambda x, y: self._apply("mul_low", dtype, x, y), a, b)
        a, b = self._whole(a), self._whole(b)
        if e.op in ("<<", ">>", *_EXTREMES):
            name = e.op if e.op in _EXTREMES else self.lowering.shift_function(e)
            return each(lambda x, y: self._apply(name, dtype, x, y), a, b)
        t = self._type(dtype)
        if e.op in _COMPARISONS:
            return each(lambda x, y: self._add(Compare(t.mask, e.op, x, y)), a, b)
        return each(lambda x, y: self._add(Arithmetic(t, e.op, x, y)), a, b)

    def _is_short(self, e: Expr) -> bool:
        """True for a number that its lower 32 bits represent, with their sign."""
        low, high = self.lowering.simplify.range(e)
        return _INT32[0] <= low and high <= _INT32[1]
