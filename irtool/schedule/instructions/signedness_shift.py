"""Bytes shifted by 128, for processors whose dot products take a first factor of the other signedness.

    acc += dot4_s8s8(x[rc, w], w4[o, rc])                         x86's `vpdpbusd` takes unsigned numbers first

⇒   acc += dot4_u8s8(x[rc, w] ^ 0x80808080, w4[o, rc])            each number is larger by 128
    … acc + sums[o]                                               sums[o] = -128 · (w[o, 0] + w[o, 1] + …)

Sums wrap at 32 bits, so the bits are the same. If weights are constants, the build computes their sums, which are added to a result
like a bias. If no operand is constant, a stage adds up the words of the smaller one. Padding is shifted, too: it is a word of 128s.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...symbolic_int import bound
from ...tir.expr import Binary, Const, Expr, Load, Var, bitwise_xor, const, rewrite
from ...tir.forms import Reduction
from ...tir.int8_dot import MOVED
from ...tir.int8_dot import dot as words_dot
from ...tir.program import Slot
from ...tir.stmt import Buffer, Scope, Store
from ..core.affine import depends, operands
from ..core.program_rewriter import ProgramRewriter

BY = 128
"""The shift from one 8-bit range to that of the other signedness."""

_ONES = 0x01010101
"""The word of four ones."""


@dataclass(frozen=True)
class Movement:
    """The sums of a kernel over shifted bytes.

    Attributes:
        weights: the constant factor, or the smaller one; the other one is shifted.
        dtype: the dtype of the shifted numbers.
        sum_axes: the axes of the weights that their sums have.
    """

    weights: Buffer
    dtype: str
    sum_axes: tuple[int, ...]

    @property
    def step(self) -> int:
        """The correction of a result for each unit of the sum of its weights."""
        return -BY if self.dtype == "uint8" else BY

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the sums of weights."""
        return tuple(self.weights.shape[n] for n in self.sum_axes)

    def corrected(self, r: Reduction, sums: Buffer) -> Reduction:
        """The sum of shifted bytes, whose stores correct the results."""
        indices = self._read(r).indices

        def add(e: Expr) -> Expr:
            return e + Load(sums, tuple(indices[n] for n in self.sum_axes)) if _reads(e, r.acc) else e

        stores = tuple(Store(s.buffer, s.indices, rewrite(s.value, add)) for s in r.stores)
        return replace(r, stores=stores)

    def _read(self, r: Reduction) -> Load:
        return next(e for e in operands(r) if e.source is self.weights)

    def added_up(self, sums: Buffer, words: Buffer) -> Reduction:
        """The stage that adds up the words of the weights, to the corrections of results; words have their axes in the order of the weights."""
        loops = [(Var(f"ax{n}"), extent) for n, extent in enumerate(words.shape)]
        outer = tuple(x for n, x in enumerate(loops) if n in self.sum_axes)
        inner = tuple(x for n, x in enumerate(loops) if n not in self.sum_axes)
        acc = Buffer("acc", (), "int32", Scope.LOCAL)
        word = Load(words, tuple(v for v, _ in loops))
        ones = const(_ONES)
        update = Load(acc, ()) + words_dot(ones, word, ("uint8", "int8"))
        store = Store(sums, [v for v, _ in outer], Load(acc, ()) * self.step)
        return Reduction(outer, acc, const(0), inner, update, (store,))

    def sums(self, rewriter: ProgramRewriter, weights: Slot) -> Slot:
        """The constant that is added to results."""
        axes = tuple(n for n in range(len(weights.shape)) if n not in self.sum_axes)
        step = self.step

        def compute(data: Any) -> Any:
            import numpy as np

            return (step * data.astype(np.int64).sum(axes)).astype(np.int32)

        name = f"{weights.name}_sums"
        return rewriter.derive(weights, ("moved", axes, step), compute, self.shape, "int32", name)


def moved_word(word: Expr) -> Expr:
    """A word with all of its numbers shifted."""
    return bitwise_xor(word, const(MOVED))


def as_it_was(word: Expr) -> Expr:
    """The operand of a shifted word before the shift; other words unchanged."""
    is_moved = isinstance(word, Binary) and word.op == "^" and isinstance(word.b, Const) and word.b.value == MOVED
    return word.a if isinstance(word, Binary) and is_moved else word


def movement(
    sums: Sequence[Reduction], factors: Mapping[Buffer, str], constants: Collection[Buffer], taken: str
) -> Movement | None:
    """The shift of data to the dtype that an instruction takes, for sums of products whose `factors` have these dtypes.

    None if the data have it already, or the weights have no sums that a bias could have. `taken`: empty for an instruction that takes both.
    """
    fixed = [b for b in factors if b in constants] or sorted(factors, key=lambda b: bound(b.size))[:1]
    data = [d for b, d in factors.items() if b not in fixed]
    if len(fixed) != 1 or len(data) != 1 or fixed[0].dtype != "int8" or taken in ("", data[0]):
        return None
    axes_of = {_kept_axes(r, fixed[0]) for r in sums}
    result_axes = axes_of.pop()
    return None if axes_of or result_axes is None else Movement(fixed[0], taken, result_axes)


def _kept_axes(r: Reduction, weights: Buffer) -> tuple[int, ...] | None:
    """The axes of weights that a sum does not run along, if it runs along all others in full; None for other sums."""
    reads = [e for e in operands(r) if e.source is weights]
    if len(reads) != 1:
        return None
    summed = {
        n for v, extent in r.inner for n, i in enumerate(reads[0].indices) if i is v and weights.shape[n] == extent
    }
    result_axes = tuple(n for n in range(len(weights.shape)) if n not in summed)
    if len(summed) != len(r.inner) or any(depends(reads[0].indices[n], v) for n in result_axes for v, _ in r.inner):
        return None
    return result_axes


def _reads(e: Expr, b: Buffer) -> bool:
    return isinstance(e, Load) and e.source is b
