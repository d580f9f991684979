"""Vectors in place of the loops over lanes of a nest, before a backend prints it.

    for l in 8: acc[0, l] += x[0] * w[l]             one body, which reads w[0 … 7] once:
    for l in 8: acc[1, l] += x[8] * w[l]      ⇒      %0 = w[0 … 7], acc[0] = acc[0] + x[0] * %0, acc[1] = acc[1] + x[8] * %0

Loops without a vector form stay loops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

from ...tir.expr import Call
from ...tir.simplify import Simplifier
from ...tir.stmt import UNROLLED, VECTORIZED, Allocate, For, Lowered, Seq, Stmt, seq
from ..nests import lower_parts, unroll
from .lower import FunctionOf, joins_numbers, lower_loop
from .matrices import MatrixLowering, find_matrix_tile
from .rows import find_rows, join
from .squares import lower_square
from .types import Scalar


class NestLowering:
    """Lowers one nest with one offset for each element and with unrolled loops expanded.

    Args:
        function: returns the vector function of a call, see `lower.lower_loop`.
        native_halves: float16 is computed in 16 bits.
        rule: a backend's own forms, which come first.
    """

    def __init__(
        self,
        simplify: Simplifier,
        function: Callable[[Call], FunctionOf],
        native_halves: bool,
        rule: Callable[[Stmt], Lowered | None] = lambda s: None,
    ) -> None:
        self.simplify = simplify
        self.function = function
        self.native_halves = native_halves
        self.rule = rule
        self.matrices: dict[Stmt, MatrixLowering] = {}
        """The lowerings of loops over lanes in products of matrices."""

    def lower(self, root: Stmt) -> Stmt:
        """The nest, with a `Lowered` around each part that became a `Body` or a `CopySquare`."""
        return lower_parts(root, self._lowered)

    def _lowered(self, s: Stmt) -> Stmt:
        """The statement lowered as a whole, or with its parts grouped."""
        own = self.rule(s)
        if own is not None:
            return own
        if isinstance(s, Allocate):
            return self._with_tile(s)
        if isinstance(s, Seq):
            rows = (list(g) for row in find_rows(s.stmts) for _, g in groupby(row, self.matrices.get))
            return seq([self._row(row) if len(row) > 1 else row[0] for row in rows])
        if isinstance(s, For) and s.kind == VECTORIZED:
            return self._row([s])
        square = lower_square(s, self.simplify) if isinstance(s, For) else None
        return s if square is None else Lowered(s, square)

    def _row(self, stmts: Sequence[Stmt]) -> Stmt:
        """Loops over lanes as one body; unchanged if one of them has no vector form."""
        loops = [s for s in stmts if isinstance(s, For)]
        if loops[0] in self.matrices:
            return Lowered(seq(loops), self.matrices[loops[0]].sums(loops))
        try:
            bodies = [lower_loop(s, self.simplify, self.function, self.native_halves) for s in loops]
        except Scalar:
            return seq([self._written_out(s) if joins_numbers(s) else s for s in loops])
        return Lowered(seq(loops), join(bodies) if len(bodies) > 1 else bodies[0])

    def _written_out(self, s: For) -> Stmt:
        """The steps of a loop over lanes one after the other: registers have no numbers that a loop could count."""
        return unroll(For(s.var, s.extent, s.body, UNROLLED), self.simplify)

    def _with_tile(self, s: Allocate) -> Stmt:
        """A buffer; for accumulators of products of matrices, with the steps before and after their sums."""
        tile = find_matrix_tile(s.buffer, s.body, self.simplify)
        if tile is None:
            return s
        lowering = MatrixLowering(tile, self.simplify)
        self.matrices.update(dict.fromkeys(tile.updates, lowering))
        begin, end = (Lowered(Seq(()), body) for body in (lowering.begin(), lowering.end()))
        if not lowering.second:
            return Allocate(s.buffer, seq([*tile.before, *tile.during, end, *tile.after]))
        body = seq([*tile.before, begin, *tile.during, end, *tile.after])
        return Allocate(s.buffer, Allocate(lowering.spare, body))
