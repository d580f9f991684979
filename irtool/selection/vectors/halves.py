"""Vectors of float16 on processors that compute in 16 bits; missing operations run in float32, each result rounded.

exp(x + y)    ⇒    f2h(exp(h2f(add(x, y))))
"""

from __future__ import annotations

from ...tir.expr import Call, Cast
from ...tir.native_halves import ARITHMETIC, CALLS, COMPARISONS, EXTREMES, HALF
from .ir import Apply, Bitcast, Body, Same, Unary, Value
from .lanes import LaneLowering
from .types import Scalar, VectorType

_WIDE = "float32"
_FUNCTIONS: dict[str, str] = {
    **dict(zip(ARITHMETIC, ("add", "subtract", "multiply", "divide"))),
    **dict(zip(COMPARISONS, ("less", "less_equal", "equal", "not_equal"))),
    **{name: name for name in EXTREMES},
}
"""The functions of vectors by operator."""


class HalfLowering:
    """Builds vectors of float16 for one vectorized loop."""

    def __init__(self, lowering: LaneLowering) -> None:
        self.lowering = lowering

    @property
    def type(self) -> VectorType:
        """The type of vectors of 16-bit numbers."""
        return VectorType(HALF, self.lowering.lanes)

    def widened(self, value: Value) -> Apply:
        """The numbers in float32; the caller appends it."""
        return self._call("h2f", _WIDE, VectorType(_WIDE, self.lowering.lanes), value)

    def narrowed(self, value: Value) -> Apply:
        """Numbers of float32, rounded; the caller appends it."""
        return self._call("f2h", _WIDE, self.type, value)

    def operation(self, op: str, a: Value, b: Value) -> Apply:
        """A sum, a comparison and so on. Raises Scalar for operators without a function."""
        if op not in _FUNCTIONS:
            raise Scalar
        return self._call(_FUNCTIONS[op], HALF, self.type.mask if op in COMPARISONS else self.type, a, b)

    def call(self, e: Call, args: list[Value], body: Body) -> Value | list[Value]:
        """The value of a call that is one instruction; for other calls, the arguments in float32."""
        if e.name in CALLS and e.dtype == HALF:
            return self._call(e.name, HALF, self.type, *args)
        return [self._added(self.widened(a), body) if a.type.dtype == HALF else a for a in args]

    def cast(self, e: Cast, value: Value, body: Body) -> Value:
        """Numbers of float16 as another type, or of another type as float16, through float32; the caller appends it."""
        cast, source, target = self.lowering.cast, e.value.dtype, e.dtype
        if source == target:
            return Same(value.type, value)
        if source == "bool":
            return Unary(self.type, "number", self.lowering.masked(value, self.type.bits, body))
        if target == HALF:
            return self.narrowed(self._added(cast(Cast(e.value, _WIDE), value, body), body))
        wide = self.widened(value)
        return wide if target == _WIDE else cast(Cast(Cast(e.value, _WIDE), target), self._added(wide, body), body)

    def loaded(self, bits: Value) -> Value:
        """Numbers from bits in memory."""
        return Bitcast(self.type, bits)

    def _added(self, value: Value, body: Body) -> Value:
        body.steps.append(value)
        return value

    def _call(self, name: str, dtype: str, result: VectorType, *args: Value) -> Apply:
        return Apply(result, (name, dtype, self.lowering.lanes), args)
