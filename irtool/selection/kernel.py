"""The nest of one kernel in the forms of a back end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from ..symbolic_int import bound
from ..tir.expr import Call
from ..tir.kernel import Kernel
from ..tir.sharing import index_bounds, updated_pairs
from ..tir.simplify import Simplifier
from ..tir.stmt import TILED, VECTORIZED, Buffer, For, Lowered, Scope, Stmt, pre_order
from .in_place import skip_copies
from .narrow_scopes import narrow_scopes
from .nests import all_buffers, flat, lower_parts, unroll, without_prefetches
from .regions import Regions
from .runs import find_run
from .streams import fence_streams
from .teams import divide, share_with_team
from .tiles import select_tiles
from .vectors.ir import Register
from .vectors.lower import FunctionOf
from .vectors.nest import NestLowering
from .vectors.types import HALVES, VectorType, held_dtype, width_for

_INDEX_LIMIT = 1 << 31


@dataclass(frozen=True)
class Selection:
    """The forms that a back end prints, beside loops, scalars and vectors.

    Attributes:
        function: returns the vector function of a call, see `vectors.lower.lower_loop`.
        for_c: for compilers of C: with runs, fences, and arrays in narrow scopes.
        tiles: blocks of sums are computed in matrix tiles; for C only.
        team: a team of threads runs the program, and shares loops; for C only.
    """

    function: Callable[[Call], FunctionOf]
    for_c: bool = False
    tiles: bool = False
    team: bool = False


@dataclass(frozen=True)
class KernelNest:
    """A kernel whose nest is printed in vectors, or in scalars."""

    kernel: Kernel
    selection: Selection

    @cached_property
    def simplify(self) -> Simplifier:
        """A simplifier that knows the bounds of its loops and of named indices."""
        return Simplifier(index_bounds(self.kernel))

    @cached_property
    def is_wide(self) -> bool:
        """True if some index needs more than 32 bits."""
        return any(bound(b.size) >= _INDEX_LIMIT for b in all_buffers(self.kernel))

    @cached_property
    def has_vectors(self) -> bool:
        """True if it has vectorized loops."""
        return any(isinstance(s, For) and s.kind == VECTORIZED for s in pre_order(self.kernel.body))

    @cached_property
    def in_team(self) -> bool:
        """True if all threads of a team run it."""
        return self.selection.team and divide(self.kernel.body) is not None

    @cached_property
    def regions(self) -> Regions:
        """Its loops that are parallel regions of their own."""
        return Regions(self.kernel, self.selection.team)

    def vector_dtype(self, b: Buffer) -> str:
        """The dtype of vectors that hold its numbers."""
        return held_dtype(b.dtype, self.kernel.native_halves)

    def register_type(self, b: Buffer) -> VectorType | None:
        """The type of each vector of a buffer in registers; None if they are scalars."""
        lanes = width_for(b.shape[-1])
        return VectorType(self.vector_dtype(b), lanes) if lanes > 1 else None

    def registers(self, b: Buffer) -> Iterator[Register]:
        """The vectors, or scalars, of a buffer in registers."""
        return ((b, indices) for indices in product(*map(range, b.shape[:-1])))

    def is_bits(self, b: Buffer, in_vectors: bool) -> bool:
        """True if elements of the buffer are bits of 16-bit floats: in memory, and in vectors of such numbers. A variable is a float32."""
        if b.dtype not in HALVES or not is_variable(b, in_vectors):
            return b.dtype in HALVES
        return b.scope == Scope.REGISTER and b.shape[-1] > 1 and self.vector_dtype(b) in HALVES

    def selected(self) -> Stmt:
        """The nest that is printed: in vectors if it has any."""
        return self.in_vectors() if self.has_vectors else self.in_scalars()

    def in_vectors(self) -> Stmt:
        """The nest in vectors, with unrolled loops expanded."""
        body = flat(self.kernel.body, self.simplify, lambda b: is_variable(b, vector=True))
        rule = self._tile_or_run if self.selection.for_c else self._no_form
        lowering = NestLowering(self.simplify, self.selection.function, self.kernel.native_halves, rule)
        body = lowering.lower(unroll(body, self.simplify))
        if self.selection.for_c:
            body = fence_streams(body)
        if self.selection.tiles:
            body = select_tiles(body, self.simplify)
        return self._at_top(body)

    def in_scalars(self) -> Stmt:
        """The nest in scalars, without prefetches: scalar code waits for its arithmetic, not for memory."""
        body = self.kernel.body
        if self.selection.for_c:
            body = narrow_scopes(without_prefetches(body) if self.has_vectors else body)
        body = flat(body, self.simplify, lambda b: is_variable(b, vector=False))
        return self._at_top(lower_parts(body, lambda s: self._run(s) or s) if self.selection.for_c else body)

    def _at_top(self, body: Stmt) -> Stmt:
        """The nest shared by a team, without copies in place."""
        change = share_with_team(body, self.kernel) if self.in_team else lambda s: s
        updated = updated_pairs(self.kernel, self.kernel.same_memory)
        return skip_copies(body, updated, lambda s: lower_parts(s, change))

    def _no_form(self, s: Stmt) -> Lowered | None:
        return None

    def _tile_or_run(self, s: Stmt) -> Lowered | None:
        """Blocks of matrix tiles stay loops until `select_tiles`."""
        return Lowered(s, s) if self.selection.tiles and isinstance(s, For) and s.kind == TILED else self._run(s)

    def _run(self, s: Stmt) -> Lowered | None:
        run = find_run(s, self.simplify) if isinstance(s, For) else None
        return None if run is None else Lowered(s, run)


def is_variable(b: Buffer, vector: bool) -> bool:
    """True for a buffer whose elements are variables. `vector`: buffers in registers count, which are vectors then."""
    return (b.scope == Scope.LOCAL and b.ndim == 0) or (b.scope == Scope.REGISTER and vector)
