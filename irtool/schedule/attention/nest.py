"""The nest of an attention.

    for n, tiles of rows:
      for panels of columns:
        for i, j: s[i, j] = q[i, :] · k[:, j], scaled and masked   (a tile of registers)
      for i:
        m = max(s[i, :]);  s[i, :] = exp(s[i, :] - m);  t[i] = sum(s[i, :])
      for i, d: out[i, d] = (s[i, :] · v[:, d]) / t[i]             (a tile of registers)

The stages between are those that the program has, whatever they are. Operands that are not contiguous along the vectors are
packed before, once for each head. The division by a row's sum is made once for a result, not once for each key. Where rows are
no multiple of a tile's, those at the end have code of their own, so that threads may share all tiles.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...tir.expr import Binary, Expr, Load, Var, const, minimum, post_order
from ...tir.forms import AnyForm, Map, Reduction, stores_of, with_workspace
from ...tir.simplify import Simplifier
from ...tir.stmt import PARALLEL, Allocate, Buffer, For, Let, Scope, Stmt, Store, rewrite_stmt, seq, substitute_stmt
from ...tir.vector_target import VectorTarget
from ..affine import stride
from ..block import Block
from ..nest import lower_all
from ..primitives import step, tracing, untraced
from ..strategies.base import Stage, choose_strategy
from ..strategies.register_tile import tile_reduction
from ..tile_choice import choose_register_tile
from ..tiles import choose_tile
from .form import Chain
from .height import LEAST_ROWS, rank_heights
from .panels import Panel, Panels
from .softmax import find_softmax, flush_exponentials, largest_of
from .tiled import NotRows, TiledRows, Tiler, operands, packed, quotient


@dataclass(frozen=True)
class AttentionNest:
    """A nest inside of its buffers in the workspace, what there is to say of it, and the steps that made it."""

    body: Stmt
    reason: str
    trace: tuple[str, ...]


def heights_of(chain: Chain, target: VectorTarget) -> list[tuple[float, int]]:
    """How many rows a tile may have, best first, behind the cycles of a key for all rows. Raises NotRows where none is worth it."""
    first, last = chain.stages[0], chain.stages[-1]
    assert isinstance(first, Reduction) and isinstance(last, Reduction)
    count, extent, columns = _rows_of(first)
    lanes = target.lanes_of("float32")
    width = last.loops[-1][1]
    if extent < LEAST_ROWS or columns < lanes or width < lanes or first.work < target.parallel_updates:
        raise NotRows
    found = rank_heights(count, extent, _padded(columns, lanes), width, target)
    if found[0][1] < LEAST_ROWS:
        raise NotRows
    return found


def lower_attention(chain: Chain, height: int, target: VectorTarget) -> AttentionNest:
    """The nest with tiles of so many rows. Raises NotRows."""
    return _Attention(chain, height, target).nest()


def _rows_of(first: Reduction) -> tuple[int, int, int]:
    """How many products are beside each other, and the rows and columns of each."""
    (_, extent), (_, columns) = first.loops[-2:]
    return math.prod(n for _, n in first.loops[:-2]), extent, columns


def _padded(columns: int, lanes: int) -> int:
    return -(-columns // lanes) * lanes


class _Attention:
    def __init__(self, chain: Chain, height: int, target: VectorTarget) -> None:
        self.target = target
        self.height = height
        self.stages = chain.stages
        self.same = chain.same
        self.inner = chain.inner
        self.part = Var("part")
        self.scratch: dict[Buffer, Buffer] = {}
        """Where the tile has a value."""

    def nest(self) -> AttentionNest:
        """Raises NotRows."""
        first, *between, last = self.stages
        assert isinstance(first, Reduction) and isinstance(last, Reduction)
        count, extent, columns = _rows_of(first)
        lanes = self.target.lanes_of("float32")
        height = self.height
        self.columns = columns
        self.padded = _padded(columns, lanes)
        self.is_on_stack = height * self.padded * 4 <= self.target.tiles_bytes
        vectors = choose_tile(height, self.padded // lanes, self.target).vectors
        self.panels = Panels(columns, vectors * lanes, lanes)
        self.parts = next(n for n in range(min(count, self.target.most_parts), 0, -1) if count % n == 0)
        fills: list[Map] = []
        first, self.keys = self._packed_keys(first, fills)
        last = self._packed(last, "values", fills)
        self.softmax = find_softmax(between, self._same)
        between = flush_exponentials(between, self._same)
        with tracing() as trace:
            filled = [_scheduled(f, self.target) for f in fills]
            nests = [self._around(TiledRows(count, extent, columns, height), extent // height, first, between, last)]
        temporaries = list(dict.fromkeys(f.stores[0].buffer for f in fills))
        if not self.is_on_stack:
            temporaries += [b for b in dict.fromkeys(self.scratch.values()) if b.scope == Scope.GLOBAL]
        if extent % height and self.is_on_stack:
            nests.append(self._around(TiledRows(count, extent, columns, extent % height), 0, first, between, last))
        whole = seq([*filled, *nests])
        reason = f"{height} rows of {columns} at a time, {'on the stack' if self.is_on_stack else 'in the cache'}"
        if fills:
            names = dict.fromkeys(f.stores[0].buffer.name for f in fills)
            reason += f", packed {' and '.join(names)}"
        return AttentionNest(with_workspace(temporaries, whole), reason, tuple(trace))

    def _same(self, b: Buffer) -> Buffer:
        return self.same.get(b, b)

    def _packed_keys(self, r: Reduction, fills: list[Map]) -> tuple[Reduction, Buffer | None]:
        """The first product with keys in panels, and where these are; as it is, if they are contiguous along its vectors."""
        v = r.loops[-1][0]
        simplify = Simplifier({x: (0, n - 1) for x, n in (*r.loops, *r.inner)})
        apart = [e for e in operands(r) if stride(simplify, e.source.offset(e.indices), v) not in (0, 1)]
        if not apart:
            return r, None
        made, r, keys = self.panels.packed(r, apart[0], "keys")
        fills += made
        return r, keys

    def _packed(self, r: Reduction, name: str, fills: list[Map]) -> Reduction:
        """The product with its second operand contiguous along its vectors."""
        v = r.loops[-1][0]
        simplify = Simplifier({x: (0, n - 1) for x, n in (*r.loops, *r.inner)})
        for e in operands(r):
            if e.source not in self.inner and stride(simplify, e.source.offset(e.indices), v) not in (0, 1):
                fill, r = packed(r, e, name)
                fills.append(fill)
        return r

    def _place(self, b: Buffer, i: Expr, j: Expr | None) -> tuple[Buffer, tuple[Expr, ...]]:
        made = self.scratch[self._same(b)]
        at = (i,) if j is None else (i, j)
        return made, (self.part, *at) if made.scope == Scope.GLOBAL else at

    def _tile(
        self, tiler: Tiler, first: Reduction, between: Sequence[AnyForm], last: Reduction
    ) -> tuple[Stmt, list[Buffer]]:
        """The stages for one tile, and the buffers on the stack."""
        divided = quotient(between[-1]) if between else None
        stages = list(between)
        if divided is not None and not self._is_last(between[-1], last):
            divided = None
        if divided is not None:
            stages.pop()
        softmax = self.softmax
        stmts: list[Stmt] = []
        rows: list[Map | Reduction] = []
        for n, form in enumerate((first, *stages)):
            self._give_room(form, (*stages[n:], last), divided)
            if n == 0:
                assert isinstance(form, Reduction)
                stmts += [self._in_panel(tiler.first(form, panel), panel) for panel in self.panels]
                continue
            if not isinstance(form, Map | Reduction):
                raise NotRows
            tiled = tiler.map(form) if isinstance(form, Map) else tiler.reduction(form)
            if softmax is None or not 0 <= n - 1 - softmax < 3:
                stmts.append(_serial(_scheduled(tiled, self.target)))
                continue
            rows.append(tiled)
            if len(rows) == 3:
                source = largest_of(stages[softmax])
                assert source is not None
                stmts.append(self._row_by_row(rows, source))
        if divided is not None:
            # The product reads what was divided.
            source, sums = (self._same(x.source) for x in divided)
            self.scratch[self._result(between[-1])] = self.scratch[source]
            total = self.scratch[sums]

            def finish(value: Expr, i: Expr) -> Expr:
                return Binary("/", value, Load(total, (i,)), value.dtype)
        else:

            def finish(value: Expr, i: Expr) -> Expr:
                return value

        stmts.append(self._in_registers(tiler.last(last, finish)))
        return seq(stmts), [b for b in dict.fromkeys(self.scratch.values()) if b.scope != Scope.GLOBAL]

    def _in_panel(self, r: Reduction, panel: Panel) -> Stmt:
        body = self._in_registers(self.panels.in_panel(r, self.keys, panel))
        return For(*panel.loop, body) if panel.loop is not None else body

    def _row_by_row(self, stages: Sequence[Map | Reduction], source: Buffer) -> Stmt:
        """Stages of rows of `source`, each row in all of them before the next one: in whole vectors, of which the last has elements
        that count for nothing."""
        i = Var("i")
        stmts: list[Stmt] = []
        if self.padded > self.columns:
            pad = Var("pad")
            b, at = self._place(source, i, self.columns + pad)
            stmts.append(For(pad, self.padded - self.columns, Store(b, at, const(-math.inf, "float32"))))
        for form in stages:
            (row, height), *wide = form.loops
            if isinstance(form, Map):
                form = replace(form, loops=tuple((v, self.padded) for v, _ in wide))
            else:
                form = replace(form, loops=(), inner=tuple((k, self.padded) for k, _ in form.inner))
            stmts.append(substitute_stmt(_serial(_scheduled(form, self.target)), {row: i}))
        return For(i, height, seq(stmts))

    def _is_last(self, form: AnyForm, last: Reduction) -> bool:
        """True if a stage divides the elements of rows by a number of each row, and makes what the last product reads."""
        divided = quotient(form)
        assert divided is not None
        a, b = (self._same(x.source) for x in divided)
        wide = self.rows.total * self.rows.columns
        read = {self._same(e.source) for e in operands(last)}
        return (
            a in self.inner
            and b in self.inner
            and a.size == wide
            and b.size == self.rows.total
            and self._result(form) in read
        )

    def _result(self, form: AnyForm) -> Buffer:
        return self._same(stores_of(form)[0].buffer)

    def _give_room(self, form: AnyForm, later: Sequence[AnyForm], divided: tuple[Load, Load] | None) -> None:
        """Room in the tile for what a stage makes: that of what it reads, if nothing later does."""
        for s in stores_of(form):
            b = self._same(s.buffer)
            if b in self.scratch:
                continue
            if b.size == self.rows.total * self.rows.columns:
                own = self._read(form)
                kept = {x for f in later for x in self._read(f)}
                kept |= {self._same(x.source) for x in divided or ()}
                in_use = {self.scratch[x] for x in kept if x in self.scratch}
                free = [
                    x
                    for x in own
                    if x in self.scratch and x.size == b.size and x.dtype == b.dtype and self.scratch[x] not in in_use
                ]
                if free and isinstance(form, Map):
                    self.scratch[b] = self.scratch[free[0]]
                    continue
                shape = (self.rows.height, self.padded)
                self.scratch[b] = (
                    Buffer(b.name if b.name != "out" else "scores", shape, b.dtype, Scope.LOCAL)
                    if self.is_on_stack
                    else Buffer("scores", (self.parts, *shape), b.dtype, Scope.GLOBAL)
                )
            elif b.size == self.rows.total:
                self.scratch[b] = Buffer(b.name, (self.rows.height,), b.dtype, Scope.LOCAL)
            else:
                raise NotRows

    def _read(self, form: AnyForm) -> list[Buffer]:
        roots = [s.value for s in stores_of(form)]
        roots += [form.update] if isinstance(form, Reduction) else []
        found = [e.source for e in post_order(*roots) if isinstance(e, Load)]
        return [x for x in dict.fromkeys(map(self._same, found)) if x in self.inner]

    def _in_registers(self, r: Reduction) -> Stmt:
        choice = choose_register_tile(r, self.target, again=True)
        if choice is None:
            raise NotRows
        with step(f"{r.stores[0].buffer.name}: register_tile — {choice.reason}"):
            return _serial(lower_all(tile_reduction(Block.of(r), choice, self.target, serial=True), self.target))

    def _around(
        self, rows: TiledRows, tiles: int, first: Reduction, between: Sequence[AnyForm], last: Reduction
    ) -> Stmt:
        """The loops over heads and so many tiles; without tiles, over the rows at the end. Threads share both, unless the memory
        of tiles is that of a part: then the last tile may overlap the one before."""
        self.rows = rows
        self.scratch = {}
        body, locals_ = self._tile(Tiler(rows, self.inner, self._place), first, between, last)
        for b in reversed(locals_):
            body = Allocate(b, body)
        t, end = Var("tile"), rows.extent - rows.height
        if not tiles:
            return For(rows.number, rows.count, Let(rows.first, const(end), body), PARALLEL)
        if self.is_on_stack:
            body = For(t, tiles, Let(rows.first, t * rows.height, body), PARALLEL)
            return For(rows.number, rows.count, body, PARALLEL)
        tiles = -(-rows.extent // rows.height)
        begin: Expr = t * rows.height
        body = For(t, tiles, Let(rows.first, minimum(begin, end) if rows.extent % rows.height else begin, body))
        inside, own = Var("product"), rows.count // self.parts
        body = For(inside, own, Let(rows.number, self.part * own + inside, body))
        return For(self.part, self.parts, body, PARALLEL)


def _scheduled(form: Map | Reduction, target: VectorTarget) -> Stmt:
    stage = Stage(form, target)
    with untraced():
        strategy, candidate = choose_strategy(stage)
    with step(f"{form.stores[0].buffer.name}: {strategy.name} — {candidate.reason}"):
        return strategy.apply(stage, candidate)


def _serial(s: Stmt) -> Stmt:
    """What one thread does."""
    return rewrite_stmt(s, lambda x: For(x.var, x.extent, x.body) if isinstance(x, For) and x.kind == PARALLEL else x)
