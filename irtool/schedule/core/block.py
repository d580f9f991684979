"""Blocks: a stage, its loops, and the primitives applied so far.

The formula of a stage stays the same. Primitives change the loops, and record each axis in terms of the loop variables, as the
iteration variables of TVM's schedules do. `lower` substitutes them into the formula once, at the end.

    out[i] = f(i), loops (i: 64)     after   split(i, factors=[4, 16]) and vectorize(i_i)

    out[i] = f(i), loops (i_o: 4, i_i: 16 vectorized), i = i_o * 16 + i_i
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from ...diagnostics import UsageError
from ...tir.expr import Binary, Expr, Load, Var, const, post_order, rewrite, substitute
from ...tir.simplify import Simplifier
from ...tir.stmt import SERIAL, UNROLLED, VECTORIZED, Buffer, Scope, Stmt, Store
from ..windows.sliding import Sliding
from .affine import simplifier
from .forms import Form, Loop, Map, Reduction, substituted
from .guards import extract_predicates

Made = TypeVar("Made", Map, Reduction)
"""The form of a block that `Block.of` returns: `Form` is that of the class on which it is called."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Block(Generic[Form]):
    """One stage and its loops.

    Attributes:
        form: the formula, over axes that are variables of its own.
        loops: the loops over results, outermost first.
        inner: the loops of the reduction, inside of those.
        bindings: the value of each axis that is no loop itself, in terms of the loop variables.
        kinds: the kinds of loops that are not serial.
        ranges: axes that the block computes in part: only steps `[begin, end)`.
        tile: the loops inside of the accumulator, which has an axis for each of them; loops of one step may be dropped.
        results: the number of elements along the last two axes of the tile that are results; 0: all of them.
        transposed: results are contiguous along the first axis of the tile, not along its last, and are stored through an array.
        joined: sums along the last axis of the tile are single numbers, and are stored together as a vector.
        window: an inner loop along which the rows of the tile read the same elements; each is read once.
        factor: an inner loop that is spread over several accumulators.
        prefetches: operands that the reduction prefetches for a later step.
        caches: operands that are copied to a buffer right before the loops that read them.
        around: loops around the block with the copies that are filled in every step of them, outermost first; the form is what
            remains inside of these loops.
        pending: a cached stage whose `compute_at` is not set yet.
    """

    form: Form
    loops: tuple[Loop, ...]
    inner: tuple[Loop, ...] = ()
    bindings: Mapping[Expr, Expr] = field(default_factory=dict)
    kinds: Mapping[Var, str] = field(default_factory=dict)
    ranges: Mapping[Var, tuple[int, int]] = field(default_factory=dict)
    tile: tuple[Loop, ...] = ()
    results: int = 0
    transposed: bool = False
    joined: bool = False
    window: Sliding | None = None
    factor: Factor | None = None
    prefetches: tuple[Ahead, ...] = ()
    caches: tuple[Cache, ...] = ()
    around: tuple[Level, ...] = ()
    pending: Pending | None = None
    view: View | None = field(default=None, compare=False, repr=False)

    @staticmethod
    def of(form: Made) -> Block[Made]:
        """A stage with a loop for each of its axes, all of them serial."""
        return Block(form=form, loops=form.loops, inner=form.inner)

    def find(self, loop: Var | str) -> Loop:
        """The loop with that variable, or of that name. Raises UsageError for an unknown or an ambiguous name."""
        every = (*self.loops, *self.inner)
        matches = [x for x in every if (x[0].name == loop if isinstance(loop, str) else x[0] is loop)]
        if len(matches) == 1:
            return matches[0]
        names = ", ".join(v.name for v, _ in every) or "none"
        name = loop if isinstance(loop, str) else loop.name
        raise UsageError(f"{'several loops are' if matches else 'no loop is'} called {name}", help=f"loops: {names}")

    def has(self, loop: Var) -> bool:
        """True if the block still has the loop."""
        return any(loop is v for v, _ in (*self.loops, *self.inner))

    def depth(self, loop: Var | str) -> int:
        """The number of loops over results around a loop over results. Raises UsageError for a loop of the reduction."""
        v, _ = self.find(loop)
        for n, (x, _) in enumerate(self.loops):
            if x is v:
                return n
        raise UsageError(f"{v.name} is a loop of the reduction, not one over results")

    @property
    def outside(self) -> tuple[Loop, ...]:
        """The loops over results outside of the accumulator."""
        along = self.factor.along if self.factor is not None else None
        return tuple(x for x in self.loops if not _among(x, self.tile) and x[0] is not along)

    @property
    def inside(self) -> tuple[Loop, ...]:
        """The loops over results inside of the accumulator."""
        return tuple(x for x in self.loops if _among(x, self.tile))

    def with_guards(self, formed: bool = False) -> Block[Form]:
        """The block, with the predicates of a reduction's reads as conditions on its steps. `formed`: see
        `extract_predicates`."""
        if not isinstance(self.form, Reduction):
            return self
        form: Any = extract_predicates(self.form, formed)
        return replace(self, form=form, view=None)

    def again(self) -> Block[Form]:
        """The block with its loops as the axes of its form."""
        return replace(Block.of(self.result()), kinds=self.kinds, ranges=self.ranges, around=self.around)

    def has_loops_only(self) -> bool:
        """True if primitives changed nothing but loops so far, and no copy is pending."""
        return not (self.tile or self.caches or self.factor or self.window or self.pending)

    def check_loops_only(self, before: str) -> None:
        """Raises UsageError if primitives changed more than the loops. `before`: the name of the primitive that must come
        first."""
        if self.tile or self.caches or self.factor or self.window:
            raise UsageError(
                "accumulators and copies are fixed already", help=f"{before} comes before cache_read and cache_write"
            )

    def check_placed(self) -> None:
        """Raises UsageError if a copy has no `compute_at` yet."""
        if self.pending is not None:
            name = self.pending.name
            raise UsageError(f"compute_at is missing for {name}", help=f"compute_at({name}), or inside of a loop")

    def check_ready(self) -> None:
        """Raises UsageError if the block cannot be lowered to a nest."""
        self.check_placed()
        vectors = [v for v, _ in self.outside if self.kind(v) == VECTORIZED]
        if vectors and isinstance(self.form, Reduction):
            name = vectors[0].name
            raise UsageError(f"{name} is vectorized, and accumulators are single numbers", help=f"cache_write({name})")

    def placed(self, form: Form, level: Level, loops: Sequence[Loop]) -> Block[Form]:
        """The block of another form inside of some of the loops; these loops keep their kinds."""
        inside = {v for v, _ in (*loops, *form.inner)}
        kinds = {v: k for v, k in self.kinds.items() if v in inside}
        around = (*self.around, level)
        return replace(Block.of(form), kinds=kinds, ranges=self.ranges, around=around)

    def values(self, inside: Sequence[Loop]) -> dict[Expr, Expr]:
        """The value of each axis in terms of the loops. Terms of the loops `inside` come first, so that the rest stays one
        subexpression."""
        own = {v for v, _ in inside}
        values: dict[Expr, Expr] = {}
        for axis, value in self.bindings.items():
            terms, rest = Simplifier().linear(value)
            total: Expr = const(0)
            for x in sorted(terms, key=lambda x: x not in own):
                total = total + x * terms[x]
            values[axis] = total + rest
        return values

    def with_fill(self, name: str, parts: Sequence[Block[Any]]) -> Block[Form]:
        """The block, with one of the blocks that fill its copies replaced by several parts. Raises UsageError for an unknown
        name."""
        self.fill(name)
        return replace(
            self,
            around=tuple(
                replace(x, fills=tuple((n, tuple(parts) if n == name else f) for n, f in x.fills)) for x in self.around
            ),
        )

    def fill(self, name: str) -> tuple[Block[Any], ...]:
        """The blocks that fill a copy. Raises UsageError for an unknown name."""
        every = {n: f for x in self.around for n, f in x.fills}
        if name not in every:
            raise UsageError(f"no copy is called {name}", help=f"copies: {', '.join(every) or 'none'}")
        return every[name]

    def over(self, axis: Var) -> tuple[Var, ...]:
        """The loops that an axis depends on, outermost first, without dropped loops of one step."""
        inside = set(post_order(self.bindings.get(axis, axis)))
        return tuple(v for v, _ in (*self.loops, *self.inner) if v in inside)

    def kind(self, v: Var) -> str:
        """The kind of a loop: `serial`, `parallel`, `vectorized` or `unroll`."""
        return self.kinds.get(v, SERIAL)

    def with_loop(self, loop: Var, into: tuple[Loop, ...], value: Expr) -> Block[Form]:
        """The block with the loops `into` in place of one loop, whose variable is `value` in terms of them."""
        v, extent = self.find(loop)
        if extent != 1:
            self.check_free(v)

        def put(loops: tuple[Loop, ...]) -> tuple[Loop, ...]:
            return tuple(y for x in loops for y in (into if x[0] is v else (x,)))

        bindings = {axis: substitute(e, {v: value}) for axis, e in self.bindings.items()}
        if v not in bindings and any(v is x for x, _ in (*self.form.loops, *self.form.inner)):
            bindings[v] = value
        kinds = {x: k for x, k in self.kinds.items() if x is not v}
        return replace(self, loops=put(self.loops), inner=put(self.inner), bindings=bindings, kinds=kinds, view=None)

    def check_free(self, v: Var) -> None:
        """Raises UsageError for a loop that earlier primitives of the block depend on."""
        if _among((v, 0), self.tile):
            raise UsageError(f"{v.name} is an axis of the accumulators", help="change loops before cache_write")
        if any(v is x for c in self.caches for i in c.read.indices for x in post_order(i)):
            raise UsageError(f"{v.name} is an axis of a copy", help="change loops before cache_read")
        if self.window is not None or (self.factor is not None and (v is self.factor.loop or v is self.factor.along)):
            raise UsageError(
                f"the reduction along {v.name} is fixed already", help="change loops before sliding_window and rfactor"
            )

    def with_kind(self, loop: Var | str, kind: str) -> Block[Form]:
        """The block with another kind for a loop."""
        v, extent = self.find(loop)
        view = None if _among((v, extent), self.tile) else self.view
        return replace(self, kinds={**self.kinds, v: kind}, view=view)

    @property
    def in_registers(self) -> bool:
        """True if the accumulators of a tile can be registers: vectors along its last axis, and unrolled loops along all
        others."""
        *rows, (lane, lanes) = self.tile
        written = all(n == 1 or self.kind(v) == UNROLLED for v, n in rows)
        return written and (lanes == 1 or self.kind(lane) == VECTORIZED)

    def result(self) -> Form:
        """The same computation, with the loops as its axes."""
        return substituted(self.form, self.bindings, self.loops, self.inner)

    def seen(self) -> View:
        """The expressions of the block in terms of the loops; cached until the loops change."""
        if self.view is None:
            object.__setattr__(self, "view", View(self))
        assert self.view is not None
        return self.view


def _among(loop: Loop, loops: Sequence[Loop]) -> bool:
    return any(loop[0] is v for v, _ in loops)


@dataclass(frozen=True)
class Cache:
    """A part of an operand that is copied before it is read.

    `within`: the number of loops over results inside of the copy. `buffer`: the copy. `fill`: the block that fills it. `operand`:
    the read that is replaced by `read`.
    """

    within: int
    buffer: Buffer
    fill: Block[Map]
    operand: Load
    read: Load


@dataclass(frozen=True)
class Level:
    """Loops `(variable, extent, kind)`, and the copies that are filled in every step of them before the block inside runs.

    `buffer`: the copy, on the stack or in the kernel's workspace; None if the level has loops only. `fills`: the blocks that fill
    it, each in parts, by name. `rewind`: a loop of the reduction inside, and the number of steps before its first one, which the
    fills compute. `together`: whether parts inside share their outermost loop, however few steps it has. `define`: puts the definition
    of a length that the step decides around the nest inside (`nest_lengths`); None if there is no such length.
    """

    loops: tuple[tuple[Var, int, str], ...]
    buffer: Buffer | None = None
    fills: tuple[tuple[str, tuple[Block[Any], ...]], ...] = ()
    rewind: tuple[Var, int] | None = None
    together: bool = False
    define: Callable[[Stmt], Stmt] | None = None

    @property
    def is_local(self) -> bool:
        """True if the copy is on the stack."""
        return self.buffer is not None and self.buffer.scope == Scope.LOCAL


@dataclass(frozen=True)
class Pending:
    """A copy without a place. `place` inserts it inside of the first `n` loops: the result is the block inside of these loops,
    which reads the copy."""

    name: str
    place: Callable[[Block[Any], int], Block[Any]]


@dataclass(frozen=True)
class Factor:
    """A reduction in several accumulators: the steps of an inner `loop` go to `vectors` vectors of `lanes` accumulators in turn.

    The accumulators are combined at the end: for each result, or for all steps of a loop `along` results, whose extent is the
    number of lanes. The vectors of `together` of these results are filled in the same steps.
    """

    loop: Var
    lanes: int
    vectors: int
    along: Var | None = None
    together: int = 1


@dataclass(frozen=True)
class Ahead:
    """Prefetches of the cache lines of `operand` that the loop `loop` reads `steps` steps later.

    Each step of the loop `over`, all of whose steps read the same lines, prefetches a share of them; None: all lines at once.
    `loop` has an extent of 0 if the operand continues behind its last step.
    """

    operand: Load
    loop: Loop
    over: Loop | None
    steps: int = 1

    @property
    def later(self) -> Expr:
        """The step of the loop whose lines are prefetched."""
        v, extent = self.loop
        return Binary("min", v + self.steps, const(extent - 1), "int32") if extent else v + self.steps


class View:
    """The expressions of a block in terms of its loops."""

    def __init__(self, b: Block[Any]) -> None:
        self.simplify = simplifier(b.loops, b.inner)
        self._memo: dict[Expr, Expr] = dict(b.bindings)
        for c in b.caches:
            self._memo[c.operand] = c.read
        self._acc: Buffer | None = None
        self._place: tuple[Expr, ...] = ()
        if isinstance(b.form, Reduction) and b.tile:
            self._old = b.form.acc
            scope = Scope.REGISTER if b.in_registers else Scope.LOCAL
            self._acc = self._old.replace(shape=[n for _, n in b.tile], scope=scope)
            self._place = tuple(v if _among((v, n), b.loops) else const(0) for v, n in b.tile)

    @property
    def acc(self) -> Buffer:
        """The accumulators of a tile."""
        assert self._acc is not None
        return self._acc

    @property
    def place(self) -> tuple[Expr, ...]:
        """The accumulator of the present step."""
        return self._place

    def __call__(self, e: Expr) -> Expr:
        """An expression of the form, in terms of the loops."""
        return self.simplify(rewrite(e, self._to_tile, self._memo))

    def store(self, s: Store) -> Store:
        """A store of the form, in terms of the loops."""
        return s.rewritten(self)

    def _to_tile(self, e: Expr) -> Expr:
        if self._acc is not None and isinstance(e, Load) and e.source is self._old:
            return Load(self._acc, self._place)
        return e
