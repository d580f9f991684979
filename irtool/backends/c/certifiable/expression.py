"""Expressions by the essential type model of MISRA C:2012: no cast of a composite expression, truth values are `bool`, no bitwise operators on
signed numbers, and operands of `?:`, `&&` and `||` in parentheses.

Sums that may wrap are computed by functions (see `functions`).
"""

from __future__ import annotations

from collections.abc import Sequence

from ....symbolic_int import SymbolicInt
from ....tir import dtypes
from ....tir.expr import Binary, Call, Cast, Const, Expr, Select, children
from ....tir.intrinsics import PRODUCT
from ...c_types import bare, enclose, literal
from ...formulas.support import Helper
from ..expression import Writer

WRAPPED = {"+": "add", "-": "sub", "*": "mul"}
"""The functions of sums that may wrap."""
BITWISE = {"&": "and", "|": "or", "^": "xor"}
"""The functions of bitwise operators on signed numbers."""
LEAST = {"int32": "-2147483647 - 1", "int64": "-INT64_C(9223372036854775807) - INT64_C(1)"}
"""The least numbers: tools read the macros of the standard as numbers of a wider type."""
_LOGICAL = {"&": "&&", "|": "||", "^": "!="}


class EssentialWriter(Writer):
    """Writes the expressions of one function by these rules."""

    truth_type = "bool"

    def type_of(self, e: Expr) -> str:
        return self.truth_type if e.dtype == "bool" else super().type_of(e)

    def _apart(self, order: Sequence[Expr]) -> set[Expr]:
        """The operands of casts that are no operands of one name: they become variables."""
        casts = [e for e in order if isinstance(e, Cast) or (isinstance(e, Call) and e.name == "reinterpret")]
        return {k for e in casts for k in children(e) if isinstance(k, Binary | Select)}

    def _one(self, e: Expr, kids: list[str]) -> str:
        if isinstance(e, Const) and not isinstance(e.value, SymbolicInt) and not dtypes.is_float(e.dtype):
            if e.dtype in LEAST and e.value == -(1 << dtypes.bits(e.dtype) - 1):
                return enclose(LEAST[e.dtype])
            if e.dtype == "uint64" and int(e.value) >= 1 << 63:
                return f"{int(e.value)}u"
        return super()._one(e, kids)

    def _binary(self, e: Binary, a: str, b: str) -> str:
        op, dtype = e.op, e.a.dtype
        if dtype == "bool" and op in _LOGICAL:
            return enclose(f"{a} {_LOGICAL[op]} {b}")
        kind = dtypes.parts(dtype)[0]
        if op in BITWISE and kind == "int":
            return self.helper(Helper(BITWISE[op], (self._computed(dtype),)), a, b)
        if op == ">>" and kind == "int":
            return self.helper(Helper("shr", (dtype,)), a, b)
        return super()._binary(e, a, b)

    def _computed(self, dtype: str) -> str:
        return "int64" if self._is_wide(dtype) else dtype

    def _integer_arithmetic(self, e: Binary, a: str, b: str) -> str:
        dtype = e.dtype
        kind, width = dtypes.parts(dtype)
        if self._is_wide(dtype) or self.simplify.never_wraps(e) or (kind == "uint" and width >= 32):
            return enclose(f"{a} {e.op} {b}")
        return self.helper(Helper(WRAPPED[e.op], (dtype,)), a, b)

    def _narrow(self, text: str, dtype: str) -> str:
        return text  # the essential type of a composite expression of narrow operands is theirs

    def _cast(self, e: Cast, value: str) -> str:
        source, target = e.value.dtype, e.dtype
        if target == "bool":
            return value if source == "bool" else enclose(f"{value} != {literal(0, source)}")
        if source == "bool":
            return enclose(f"{value} ? {literal(1, target)} : {literal(0, target)}")
        return super()._cast(e, value)

    def _call(self, e: Call, kids: list[str]) -> str:
        if e.name == PRODUCT:  # strict floats are not contracted: a product is one
            return enclose(f"{kids[0]} * {kids[1]}")
        return super()._call(e, kids)

    def _condition(self, text: str) -> str:
        return enclose(bare(text)) if _is_composite(text) else text


def _is_composite(text: str) -> bool:
    return bare(text) is not text
