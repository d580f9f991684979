"""Sums of products of two operands: matrix products, convolutions, attention.

Each multiply-add reads an element of either operand. A loop over results that moves one operand alone is an axis of rows or of columns:
its results read the same elements of the other operand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...tir.bf16_dot import DOT_PAIR
from ...tir.expr import Call, Cast, Const, Expr, Load
from ...tir.forms import AnyForm, Loop, Reduction
from ...tir.stmt import Buffer
from .affine import factors, moves, summand

_HALVES = ("bfloat16", "float16")
"""Dtypes of operands that are widened to float32, element by element."""


@dataclass(frozen=True)
class SumOfProducts:
    """A reduction that adds products of an element `a` and an element `b`, from zero on. Elements of 16-bit floats are those before they
    are widened; they may be words of two bfloat16 numbers, whose dot product is added."""

    a: Load
    b: Load

    def with_weights(self, constants: Sequence[Buffer]) -> Iterator[tuple[Load, Load]]:
        """The operands as data and weights, as often as one can be weights: those are among some buffers, and not the data themselves."""
        for data, weights in ((self.a, self.b), (self.b, self.a)):
            if weights.source in constants and data.source is not weights.source:
                yield data, weights


def sum_of_products(form: AnyForm) -> SumOfProducts | None:
    """The operands of a sum in float32 or float64 of products, without guards; None for other forms."""
    if not isinstance(form, Reduction) or form.guards or form.acc.dtype not in ("float32", "float64"):
        return None
    if not isinstance(form.init, Const) or form.init.value:
        return None
    added = summand(form)
    multiplied = added.args if isinstance(added, Call) and added.name == DOT_PAIR else factors(form) or ()
    read = [e for e in map(_operand, multiplied) if isinstance(e, Load) and isinstance(e.source, Buffer)]
    return SumOfProducts(*read) if len(read) == 2 else None


def _operand(e: Expr) -> Expr:
    return e.value if isinstance(e, Cast) and e.value.dtype in _HALVES else e


def loops_of_one(loops: Sequence[Loop], e: Load, other: Load) -> list[Loop]:
    """The loops that move one operand, and not the other one."""
    return [x for x in loops if moves(e, x[0]) and not moves(other, x[0])]
