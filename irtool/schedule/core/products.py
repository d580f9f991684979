"""Sums of products of two operands: matrix products, convolutions, attention.

Each multiply-add reads an element of either operand. A loop over results whose variable only one operand's index depends on is an
axis of rows or of columns: its results read the same elements of the other operand.
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
    """A reduction that adds products of an element `a` and an element `b`, starting at zero.

    16-bit floats are read before they are widened; they may be words of two bfloat16 numbers, whose dot product is added.
    """

    a: Load
    b: Load

    def with_weights(self, constants: Sequence[Buffer]) -> Iterator[tuple[Load, Load]]:
        """The operands as pairs (data, weights), for each operand that can be the weights: its buffer is in `constants`, and the
        data have another."""
        for data, weights in ((self.a, self.b), (self.b, self.a)):
            if weights.source in constants and data.source is not weights.source:
                yield data, weights


def sum_of_products(form: AnyForm) -> SumOfProducts | None:
    """The operands of a float32 or float64 sum of products without guards; None for other forms."""
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
    """The loops that the indices of one operand depend on, and those of the other one do not."""
    return [x for x in loops if moves(e, x[0]) and not moves(other, x[0])]
