"""The nest of an attention.

    for n, tiles of rows:
      for panels of columns:
        for i, j: s[i, j] = q[i, :] · k[:, j], scaled and masked   (a tile of registers)
      for i:
        m = max(s[i, :]);  s[i, :] = exp(s[i, :] - m);  t[i] = sum(s[i, :])
      for i, d: out[i, d] = (s[i, :] · v[:, d]) / t[i]             (a tile of registers)

Each of these is a named stage, which a strategy or a script schedules: `scores`, `out`, and the stages between, named after their
results. These are the program's own stages, of any kind. Operands that are not contiguous along the vectors are packed before,
once for each head. Each result is divided by its row's sum once, not each key. If a tile's height does not divide the rows, the
rows at the end have code of their own, so that threads may share all tiles; if only the run knows the number of rows, tiles of all
heights have the same code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from ....symbolic_int import bound, is_known
from ....tir.bf16_dot import DTYPE
from ....tir.dtypes import itemsize
from ....tir.expr import Binary, Expr, Load, Var, const, minimum, post_order, rewrite, substitute
from ....tir.forms import AnyForm, Map, Reduction, stores_of, with_buffers, with_workspace
from ....tir.memory import CACHE_LINE
from ....tir.stmt import PARALLEL, SERIAL, Allocate, Buffer, For, Let, Scope, Stmt, Store, in_panels, seq
from ....tir.vector_target import USUAL
from ...core.affine import loads, moves, operands, simplifier, stride
from ...core.staged import StagedNest, StagedNestBuilder
from .chain import Chain
from .pairs import filled_with_words, of_words, packed_words, words_of
from .panels import Panels
from .softmax import find_softmax, flush_exponentials, largest_of
from .tiled import NotRows, TiledRows, Tiler, is_rounded, packed, quotient
from .tiling import RowTiling, padded, rows_of


def nest_of_rows(chain: Chain, tiling: RowTiling) -> StagedNest:
    """The nest of an attention in tiles of rows. Raises NotRows."""
    return _Attention(chain, tiling).nest()


class _Attention:
    def __init__(self, chain: Chain, tiling: RowTiling) -> None:
        self.chain = chain
        self.tiling = tiling
        self.same = chain.same
        self.inner = chain.inner
        self.part = Var("part")
        self.stages = StagedNestBuilder()
        self.scratch: dict[Buffer, Buffer] = {}
        """The buffer in the tile for each value."""
        self.room: list[Buffer] = []
        """The buffers of the tile."""
        self.shared: list[Buffer] = []
        """The buffers of a tile in the workspace; tiles of all heights use the same ones."""
        self.words: dict[Buffer, Buffer] = {}
        """The words for buffers of numbers that are stored as words only."""

    def nest(self) -> StagedNest:
        """The nest of the attention. Raises NotRows if a stage cannot be tiled."""
        first, last = self.chain.products
        count, extent, columns = rows_of(first)
        height, lanes = self.tiling.rows, self.tiling.lanes
        self.columns = columns
        self.padded = padded(columns, lanes)
        self.is_on_stack = not self.tiling.parts
        self.panels = Panels(columns, self.tiling.keys, lanes)
        fills: list[Map] = []
        first, self.keys = self._packed_keys(first, fills)
        last = self._packed(last, "values", fills)
        fills = [self._in_words(f) for f in fills]
        between = self.chain.stages[1:-1]
        self.softmax = find_softmax(between, self._same)
        between = flush_exponentials(between, self._same)
        nests: list[Stmt] = []
        fills = [*self._before(), *fills]
        for f in fills:
            nests.append(self.stages.add(self.stages.free_name(f.stores[0].buffer.name), f, private=False))
        left = extent % height
        self.overlaps = not self.is_on_stack and left != 0 and is_known(extent)
        nests.append(self._around(TiledRows(count, extent, columns, height), first, between, last))
        if left != 0 and is_known(left) and not self.overlaps:
            nests.append(self._around(TiledRows(count, extent, columns, left, is_end=True), first, between, last))
        temporaries = list(dict.fromkeys(s.buffer for f in fills for s in f.stores))
        return self.stages.nest(with_workspace([*temporaries, *self.shared], seq(nests)))

    def _before(self) -> list[Map]:
        """The stages that compute operands. Raises NotRows if one is a sum."""
        maps = [f for f in self.chain.before if isinstance(f, Map)]
        if len(maps) < len(self.chain.before):
            raise NotRows
        return maps

    def _same(self, b: Buffer) -> Buffer:
        return self.same.get(b, b)

    def _packed_keys(self, r: Reduction, fills: list[Map]) -> tuple[Reduction, Buffer | None]:
        """The first product with its keys packed in panels, and the buffer of these.

        The product stays the same, without a buffer, if the keys are contiguous along its vectors, and near or in wide vectors.
        """
        v = r.loops[-1][0]
        simplify = simplifier(r.loops, r.inner)
        narrow = self.tiling.lanes * itemsize(r.acc.dtype) <= CACHE_LINE // 2
        strides = (0,) if is_rounded(r) or (narrow and _is_far(r)) else (0, 1)
        apart = [e for e in operands(r) if stride(simplify, e.source.offset(e.indices), v) not in strides]
        if not apart:
            return r, None
        if not is_known(self.columns) and not any(e.source is not r.acc for s in r.stores for e in loads(s.value)):
            self.panels = replace(self.panels, is_padded=True)
        copies, packed_product, keys = self.panels.packed(r, apart[0], "keys")
        fills += self._by_words(r, apart[0], copies, keys) if self._is_in_words(r, apart[0]) else copies
        return packed_product, keys

    def _is_in_words(self, r: Reduction, e: Load) -> bool:
        """True if the numbers of an operand in memory are full groups of words for matrix tiles."""
        (k, depth) = r.inner[0]
        whole = self.tiling.words > 1 and depth % (2 * self.tiling.words) == 0
        return whole and stride(simplifier(r.loops, r.inner), e.source.offset(e.indices), k) == 1

    def _by_words(self, r: Reduction, e: Load, copies: Sequence[Map], keys: Buffer) -> list[Map]:
        """The copies of keys in two steps: the words as they are in memory, then a transpose of these, in squares of words."""
        (k, depth), (v, _) = r.inner[0], r.loops[-1]
        loops = [*(x for x in r.loops[:-1] if moves(e, x[0])), (v, self.columns), (k, depth)]
        own = {x: Var(x.name) for x, _ in loops}
        shape = [n for _, n in loops]
        numbers = Buffer("key_words", shape, DTYPE, Scope.GLOBAL)
        words = numbers.replace(shape=[*shape[:-1], words_of(depth)], dtype="int32")
        fill = Store(numbers, tuple(own.values()), substitute(e, {**own}))
        steps = [packed_words(Map(tuple((own[x], n) for x, n in loops), (fill,)), own[k], depth, words)]
        self.words[keys] = keys.replace(shape=[*keys.shape[:-2], words_of(depth), keys.shape[-1]], dtype="int32")
        for panel, copy in zip(self.panels, copies, strict=True):
            *around, _, word, column = copy.stores[0].indices
            read: Expr = Load(words, (*around, panel.first + column, word))
            extents = tuple((x, words_of(n) if x is word else n) for x, n in copy.loops)
            if panel.loop is not None:  # copies have the loop over panels of their own
                read = substitute(read, {panel.loop[0]: copy.stores[0].indices[-3]})
            steps.append(Map(extents, (Store(self.words[keys], copy.stores[0].indices, read),)))
        return steps

    def _packed(self, r: Reduction, name: str, fills: list[Map]) -> Reduction:
        """The product with its second operand contiguous along its vectors; in panels if a tile reads a part of each row only.

        Rows that are contiguous already are copied if they exceed the caches.
        """
        v = r.loops[-1][0]
        simplify = simplifier(r.loops, r.inner)
        width = self.tiling.values
        in_parts = bool(width) and not is_rounded(r)
        strides = (0,) if is_rounded(r) or (in_parts and _is_far(r)) else (0, 1)
        for e in operands(r):
            if e.source not in self.inner and stride(simplify, e.source.offset(e.indices), v) not in strides:
                fill, r = packed(r, e, name)
                if in_parts:
                    b = fill.stores[0].buffer
                    own = {b: b.replace(layout=in_panels(b.shape, b.ndim - 1, width))}
                    fill, r = with_buffers(fill, own), with_buffers(r, own)  # type: ignore[assignment]  # their kinds stay
                fills.append(fill)
        return r

    def _in_words(self, fill: Map) -> Map:
        """A copy of numbers, in words if they are bfloat16."""
        (store,) = fill.stores
        b = store.buffer
        if b.dtype != DTYPE:
            return fill
        axis = len(b.shape) - (1 if b.scope == Scope.LOCAL else 2)
        if b not in self.words:
            shape = [words_of(n, self.tiling.words) if a == axis else n for a, n in enumerate(b.shape)]
            self.words[b] = b.replace(shape=shape, dtype="int32")
        return filled_with_words(fill, axis, self.words[b], self.tiling.words)

    def _of_words(self, r: Reduction) -> Reduction:
        """A product of a tile, of words if its operands are bfloat16."""
        if not is_rounded(r):
            return r
        (k, _) = r.inner[0]

        def read(e: Load, word: Var) -> Load:
            assert isinstance(e.source, Buffer)
            return Load(self.words[e.source], tuple(word if i is k else i for i in e.indices))

        return of_words(r, read, self.tiling.words)

    def _place(self, b: Buffer, i: Expr, j: Expr | None) -> tuple[Buffer, tuple[Expr, ...]]:
        own = self.scratch[self._same(b)]
        indices = (i,) if j is None else (i, j)
        return own, (self.part, *indices) if own.scope == Scope.GLOBAL else indices

    def _add(self, name: str, form: Map | Reduction) -> Stmt:
        """The place of a stage of a tile; stages for the rows at the end, fewer than a tile has, have names of their own."""
        name = f"{name}_at_end" if self.rows.is_end else name
        return self.stages.add(self.stages.free_name(name), form)

    def _tile(
        self, tiler: Tiler, first: Reduction, between: Sequence[AnyForm], last: Reduction
    ) -> tuple[Stmt, list[Buffer]]:
        """The stages for one tile, and the buffers on the stack."""
        divided = quotient(between[-1]) if between else None
        stages = list(between)
        if divided is not None and not self._is_last(between[-1], last):
            divided = None
        if divided is not None:
            tiler.check(stages.pop())
        softmax = self.softmax
        stmts: list[Stmt] = []
        of_rows: list[Map | Reduction] = []
        for n, form in enumerate((first, *stages)):
            self._give_room(form, (*stages[n:], last), divided)
            if n == 0:
                stmts += self._scores(tiler, first)
                continue
            if not isinstance(form, Map | Reduction):
                raise NotRows
            if softmax is None or not 0 <= n - 1 - softmax < 3:
                tiled = tiler.map(form) if isinstance(form, Map) else tiler.reduction(form)
                stmts.append(self._add(_name(form), tiled))
                continue
            of_rows.append(form)
            if len(of_rows) == 3:
                source = largest_of(stages[softmax])
                assert source is not None
                rounded = None
                if (
                    divided is not None
                    and is_rounded(last)
                    and self._same(divided[0].source) is self._result(of_rows[1])
                ):
                    rounded = self._result(between[-1])
                stmts.append(self._row_by_row(tiler, of_rows, source, rounded))
        if divided is not None:
            # The product reads the dividend.
            source, sums = (self._same(x.source) for x in divided)
            self.scratch.setdefault(self._result(between[-1]), self.scratch[source])
            total = self.scratch[sums]

            def finish(value: Expr, i: Expr) -> Expr:
                return Binary("/", value, Load(total, (i,)), value.dtype)
        else:

            def finish(value: Expr, i: Expr) -> Expr:
                return value

        if is_rounded(last):
            (p,) = {self._same(e.source) for e in operands(last)} & self.scratch.keys()
            if self.scratch[p] not in self.words:
                stmts.append(self._add("rounded", self._rounded(p, p)))
        stmts.append(self._add("out", self._of_words(tiler.last(last, finish))))
        return seq(stmts), [b for b in self.room if b.scope != Scope.GLOBAL]

    def _scores(self, tiler: Tiler, first: Reduction) -> list[Stmt]:
        """The first product, panel by panel."""
        stmts: list[Stmt] = []
        queries: Buffer | None = None
        for panel in self.panels:
            r = self.panels.in_panel(tiler.first(first, panel), self.keys, panel)
            if is_rounded(r):
                (read,) = (e for e in operands(r) if e.source is not self.keys)
                fill, r = packed(r, read, "queries", Scope.LOCAL)
                own = fill.stores[0].buffer
                if queries is None:
                    queries = own
                    stmts.append(self._add("queries", self._in_words(fill)))
                    self.room.append(self.words[own])
                r = replace(r, update=rewrite(r.update, _moved_to(own, queries)))
            body = self._add("scores", self._of_words(r))
            stmts.append(For(*panel.loop, body) if panel.loop is not None else body)
        return stmts

    def _rounded(self, p: Buffer, source: Buffer, row: Var | None = None) -> Map:
        """The operand `p` of the last product in words, from the buffer of `source` in the tile: for all rows, or for one."""
        i, j = Var("i") if row is None else row, Var("j")
        columns = self.columns if row is None else self.padded
        own, indices = self._place(source, i, j)
        numbers = own.replace(name="rounded", dtype=DTYPE)
        words = numbers.replace(shape=(*own.shape[:-1], words_of(bound(self.padded), self.tiling.words)), dtype="int32")
        self.words[numbers] = words if self.is_on_stack else self._shared(words)
        self.room.append(self.words[numbers])
        self.scratch[p] = numbers
        loops = (*([(i, self.rows.height)] if row is None else []), (j, columns))
        fill = Map(loops, (Store(numbers, indices, Load(own, indices)),))
        return packed_words(fill, j, columns, self.words[numbers], self.tiling.words)

    def _row_by_row(
        self, tiler: Tiler, stages: Sequence[Map | Reduction], source: Buffer, rounded: Buffer | None
    ) -> Stmt:
        """Stages on rows of `source`; all stages of a row come before the next row.

        Rows are full vectors, whose padding does not change the results. `rounded`: the operand of the last product in bfloat16.
        """
        i = Var("i")
        stmts: list[Stmt] = []
        if self.padded != self.columns:
            pad = Var("pad")
            b, indices = self._place(source, i, self.columns + pad)
            stmts.append(For(pad, self.padded - self.columns, Store(b, indices, const(-math.inf, "float32"))))
        for form in stages:
            if isinstance(form, Map):
                wide = tiler.map(form, i)
                tiled: Map | Reduction = replace(wide, loops=tuple((v, self.padded) for v, _ in wide.loops))
            else:
                summed = tiler.reduction(form, i)
                tiled = replace(summed, inner=tuple((k, self.padded) for k, _ in summed.inner))
            stmts.append(self._add(_name(form), tiled))
        if rounded is not None:
            exponentials = self._result(stages[1])
            stmts.append(self._add("rounded", self._rounded(rounded, exponentials, i)))
        return For(i, self.rows.height, seq(stmts))

    def _is_last(self, form: AnyForm, last: Reduction) -> bool:
        """True if a stage divides the elements of rows by a number of each row, and its result is an operand of the last
        product."""
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
        """Allocates a buffer in the tile for the result of a stage: that of its operand, if no later stage reads it."""
        for s in stores_of(form):
            b = self._same(s.buffer)
            if b in self.scratch:
                continue
            if b.size == self.rows.total * self.rows.columns:
                own = self._read(form)
                needed = {x for f in later for x in self._read(f)}
                needed |= {self._same(x.source) for x in divided or ()}
                in_use = {self.scratch[x] for x in needed if x in self.scratch}
                free = [
                    x
                    for x in own
                    if x in self.scratch and x.size == b.size and x.dtype == b.dtype and self.scratch[x] not in in_use
                ]
                if free and isinstance(form, Map):
                    self.scratch[b] = self.scratch[free[0]]
                    continue
                shape = (bound(self.rows.height), bound(self.padded))
                name = b.name if b.name != "out" else "scores"
                self.scratch[b] = (
                    b.replace(name=name, shape=shape, scope=Scope.LOCAL)
                    if self.is_on_stack
                    else self._shared(Buffer("scores", (self.tiling.parts, self.tiling.rows, shape[1]), b.dtype))
                )
            elif b.size == self.rows.total:
                self.scratch[b] = b.replace(shape=(bound(self.rows.height),), scope=Scope.LOCAL)
            else:
                raise NotRows
            self.room.append(self.scratch[b])

    def _shared(self, b: Buffer) -> Buffer:
        """The next buffer in the workspace for this height: that of the full tiles, or `b` if it is the first one."""
        number = sum(x.scope == Scope.GLOBAL for x in self.room)
        if number == len(self.shared):
            self.shared.append(b)
        return self.shared[number]

    def _read(self, form: AnyForm) -> list[Buffer]:
        roots = [s.value for s in stores_of(form)]
        roots += [form.update] if isinstance(form, Reduction) else []
        sources = [e.source for e in post_order(*roots) if isinstance(e, Load)]
        return [x for x in dict.fromkeys(map(self._same, sources)) if x in self.inner]

    def _around(self, rows: TiledRows, first: Reduction, between: Sequence[AnyForm], last: Reduction) -> Stmt:
        """The loops over heads and over the full tiles, or over the rows at the end. If only the run knows the number of rows, the last
        tile has those that are left.

        Threads share both loops, unless the tiles of a part share memory: then the last tile may overlap the one before.
        """
        most, bind = rows.height, None
        if not is_known(rows.extent % most):
            height, bind = self.stages.lengths.add("rows", most, rows.extent - rows.first)
            rows = replace(rows, height=height)
        self.rows = rows
        self.scratch, self.room = {}, []
        body, locals_ = self._tile(Tiler(rows, self.inner, self._place), first, between, last)
        for b in reversed(locals_):
            body = Allocate(b, body)
        t, end = Var("tile"), rows.extent - rows.height
        if rows.is_end:
            body = Let(rows.first, const(end), body)
        else:
            tiles = -(-rows.extent // most) if self.overlaps or bind else rows.extent // most
            begin: Expr = t * most
            body = Let(rows.first, minimum(begin, end) if self.overlaps else begin, bind(body) if bind else body)
            body = For(t, tiles, body, PARALLEL if self.is_on_stack else SERIAL)
        if self.is_on_stack:
            return For(rows.number, rows.count, body, PARALLEL)
        inside, own = Var("product"), rows.count // self.tiling.parts
        body = For(inside, own, Let(rows.number, self.part * own + inside, body))
        return For(self.part, self.tiling.parts, body, PARALLEL)


def _moved_to(old: Buffer, new: Buffer) -> Callable[[Expr], Expr]:
    return lambda e: Load(new, e.indices) if isinstance(e, Load) and e.source is old else e


def _name(form: Map | Reduction) -> str:
    """The name of a stage between the products: `out` is the name of the last product."""
    name = form.stores[0].buffer.name
    return name if name != "out" else "scores"


def _is_far(r: Reduction) -> bool:
    """True if the operand of a product for one head, keys or values, exceeds the L1 and L2 caches."""
    return r.loops[-1][1] * math.prod(n for _, n in r.inner) * itemsize(r.acc.dtype) > USUAL.tiles_bytes
