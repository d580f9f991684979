"""The nest of an attention.

    for n, tiles of rows:
      for i, j: s[i, j] = q[i, :] · k[:, j], scaled and masked     (a tile of registers)
      for i: m[i] = max(s[i, :])
      for i, j: s[i, j] = exp(s[i, j] - m[i])                      (in the place of the scores)
      for i: t[i] = sum(s[i, :])
      for i, d: out[i, d] = (s[i, :] · v[:, d]) / t[i]             (a tile of registers)

The stages between are those that the program has, whatever they are. Operands that are not contiguous along the vectors are
packed before, once for each head. The division by a row's sum is made once for a result, not once for each key.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...tir.expr import Binary, Expr, Load, Var, minimum, post_order
from ...tir.forms import AnyForm, Map, Reduction, Steps, stores_of, with_buffers
from ...tir.kernel import Choice, Kernel, StageChoice
from ...tir.simplify import Simplifier
from ...tir.stmt import PARALLEL, SERIAL, Allocate, Buffer, For, Let, Scope, Stmt, rewrite_stmt, seq
from ...tir.vector_target import VectorTarget
from ..affine import stride
from ..block import Block
from ..fuse_kernels import joined_name
from ..nest import lower_all
from ..strategies.base import Stage, choose_strategy
from ..strategies.register_tile import tile_reduction
from ..tile_choice import choose_register_tile
from ..tiles import choose_tile
from .tiled import NotRows, Rows, Tiler, operands, packed, quotient

_LEAST_ROWS = 8
"""Rows that are worth a tile; below, products are of a few rows with a matrix, which is read once anyway."""


def make_kernel(kernels: Sequence[Kernel], wiring: Sequence[Sequence[int]], target: VectorTarget) -> Kernel | None:
    """One kernel of a chain of kernels. `wiring`: for each of their inputs the number of the kernel's own one, or -1 - n for the
    result of the n-th kernel. None where rows cannot be tiled, or are too few, or short."""
    try:
        return _Attention(kernels, wiring, target).kernel()
    except NotRows:
        return None


class _Attention:
    def __init__(self, kernels: Sequence[Kernel], wiring: Sequence[Sequence[int]], target: VectorTarget) -> None:
        self.kernels = kernels
        self.target = target
        self.params: list[Buffer] = []
        self.same: dict[Buffer, Buffer] = {}
        """What is one and the same value, under several shapes."""

        self.stages: list[AnyForm] = []
        self.out = kernels[-1].outputs[0]
        for k, wires in zip(kernels, wiring):
            replaced: dict[Buffer, Buffer] = {}
            for b, n in zip(k.inputs, wires):
                if n < 0:
                    self.same[b] = self.same.get(kernels[-1 - n].outputs[0], kernels[-1 - n].outputs[0])
                else:
                    replaced[b] = Buffer(f"p{len(self.params)}", b.shape, b.dtype, b.scope, b.layout)
                    self.params.append(replaced[b])
            self.stages += [with_buffers(form, replaced) for form in k.stages]
        self.inner = {k.outputs[0] for k in kernels[:-1]} | {b for k in kernels for b in k.temporaries} | set(self.same)
        self.scratch: dict[Buffer, Buffer] = {}
        """Where the tile has a value."""

    def kernel(self) -> Kernel:
        """Raises NotRows."""
        first, *between, last = self.stages
        assert isinstance(first, Reduction) and isinstance(last, Reduction)
        (_, extent), (_, columns) = first.loops[-2:]
        count = math.prod(n for _, n in first.loops[:-2])
        lanes = self.target.lanes_of("float32")
        width = last.loops[-1][1]
        if extent < _LEAST_ROWS or columns < lanes or width < lanes or first.work < self.target.parallel_updates:
            raise NotRows
        height = _choose_height(count, extent, columns, width, self.target)
        if height < _LEAST_ROWS:
            raise NotRows
        self.rows = Rows(count, extent, columns, height)
        self.near = height * columns * 4 <= self.target.stack_bytes
        parts = next(n for n in range(min(count, self.target.most_parts), 0, -1) if count % n == 0)
        self.part, self.parts = Var("part"), parts
        fills: list[Map] = []
        first = self._packed(first, "keys", fills)
        last = self._packed(last, "values", fills)
        tiler = Tiler(self.rows, self.inner, self._place)
        body, locals_ = self._tile(tiler, first, between, last)
        nest = self._around(body, locals_)
        filled = [_scheduled(f, self.target) for f in fills]
        temporaries = [f.stores[0].buffer for f in fills]
        if not self.near:
            temporaries += [b for b in dict.fromkeys(self.scratch.values()) if b.scope == Scope.GLOBAL]
        whole = seq([*filled, nest])
        reason = f"{height} rows of {columns} at a time, {'on the stack' if self.near else 'in the cache'}"
        if fills:
            reason += f", packed {' and '.join(b.stores[0].buffer.name for b in fills)}"
        choice = Choice("attention", reason, (StageChoice(0, "attention", reason, ()),))
        operators = tuple(o for k in self.kernels for o in k.operators)
        calls = tuple(c for k in self.kernels for c in k.calls)
        return Kernel(
            joined_name(self.kernels),
            [*self.params, self.out],
            [Steps(whole)],
            temporaries=temporaries,
            operators=operators,
            calls=calls,
            macs=sum(k.macs for k in self.kernels),
            choice=choice,
            finished=True,
        )

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
        made = self.scratch[self.same.get(b, b)]
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
        made: list[Stmt] = []
        for n, form in enumerate((first, *stages)):
            later = (*stages[n:], last)
            self._give_room(form, later, divided)
            if n == 0:
                assert isinstance(form, Reduction)
                made.append(self._in_registers(tiler.first(form)))
            elif isinstance(form, Map):
                made.append(_serial(_scheduled(tiler.map(form), self.target)))
            elif isinstance(form, Reduction):
                made.append(_serial(_scheduled(tiler.reduction(form), self.target)))
            else:
                raise NotRows
        if divided is not None:
            # The product reads what was divided.
            source, sums = (self.same.get(x.source, x.source) for x in divided)
            self.scratch[self._result(between[-1])] = self.scratch[source]
            total = self.scratch[sums]

            def finish(value: Expr, i: Expr) -> Expr:
                return Binary("/", value, Load(total, (i,)), value.dtype)
        else:

            def finish(value: Expr, i: Expr) -> Expr:
                return value

        made.append(self._in_registers(tiler.last(last, finish)))
        return seq(made), [b for b in dict.fromkeys(self.scratch.values()) if b.scope != Scope.GLOBAL]

    def _is_last(self, form: AnyForm, last: Reduction) -> bool:
        """True if a stage divides the elements of rows by a number of each row, and makes what the last product reads."""
        divided = quotient(form)
        assert divided is not None
        a, b = (self.same.get(x.source, x.source) for x in divided)
        wide = self.rows.total * self.rows.columns
        read = {self.same.get(e.source, e.source) for e in operands(last)}
        return (
            a in self.inner
            and b in self.inner
            and a.size == wide
            and b.size == self.rows.total
            and self._result(form) in read
        )

    def _result(self, form: AnyForm) -> Buffer:
        b = stores_of(form)[0].buffer
        return self.same.get(b, b)

    def _give_room(self, form: AnyForm, later: Sequence[AnyForm], divided: tuple[Load, Load] | None) -> None:
        """Room in the tile for what a stage makes: that of what it reads, if nothing later does."""
        for s in stores_of(form):
            b = self.same.get(s.buffer, s.buffer)
            if b in self.scratch:
                continue
            if b.size == self.rows.total * self.rows.columns:
                own = self._read(form)
                kept = {x for f in later for x in self._read(f)}
                kept |= {self.same.get(x.source, x.source) for x in divided or ()}
                held = {self.scratch[x] for x in kept if x in self.scratch}
                free = [
                    x
                    for x in own
                    if x in self.scratch and x.size == b.size and x.dtype == b.dtype and self.scratch[x] not in held
                ]
                if free and isinstance(form, Map):
                    self.scratch[b] = self.scratch[free[0]]
                    continue
                shape = (self.rows.height, self.rows.columns)
                self.scratch[b] = (
                    Buffer(b.name if b.name != "out" else "scores", shape, b.dtype, Scope.LOCAL)
                    if self.near
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
        return [x for x in dict.fromkeys(self.same.get(b, b) for b in found) if x in self.inner]

    def _in_registers(self, r: Reduction) -> Stmt:
        choice = choose_register_tile(r, self.target, again=True)
        if choice is None:
            raise NotRows
        return _serial(lower_all(tile_reduction(Block.of(r), choice, self.target, serial=True), self.target))

    def _around(self, body: Stmt, locals_: Sequence[Buffer]) -> Stmt:
        """The loops over heads and tiles; threads share both, unless tiles overlap or their memory is that of a part."""
        rows = self.rows
        for b in reversed(locals_):
            body = Allocate(b, body)
        tiles = -(-rows.extent // rows.height)
        even = rows.extent % rows.height == 0
        t = Var("tile")
        first: Expr = t * rows.height
        body = Let(rows.first, first if even else minimum(first, rows.extent - rows.height), body)
        shared = even and self.near
        body = For(t, tiles, body, PARALLEL if shared else SERIAL)
        if self.near:
            return For(rows.number, rows.count, body, PARALLEL)
        inside = Var("product")
        body = Let(rows.number, self.part * (rows.count // self.parts) + inside, body)
        return For(self.part, self.parts, For(inside, rows.count // self.parts, body), PARALLEL)


def _choose_height(count: int, extent: int, columns: int, width: int, target: VectorTarget) -> int:
    """Rows of a tile: some 24, whole register tiles, and a divisor of the rows, all if that can be. Threads share tiles that do
    not overlap only, which matters where there are few products."""
    lanes = target.lanes_of("float32")
    most = min(extent, 32, target.stack_bytes // (4 * columns))
    if most < 12:
        most = min(extent, 32, target.packed_bytes // (4 * columns))
    best = (math.inf, 0)
    for height in range(max(1, min(most, _LEAST_ROWS)), most + 1):
        cost = 0.0
        for n in (columns, width):
            rows = choose_tile(height, -(-n // lanes), target).rows
            cost += -(-height // rows) * rows / height
        tiles = -(-extent // height)
        overlap = 1 if extent % height == 0 else 1.02 if count >= target.most_parts // 4 else 1.5
        cost *= tiles * height / extent * (1 + 2 / height) * overlap
        best = min(best, (cost, height))
    return best[1]


def _scheduled(form: Map | Reduction, target: VectorTarget) -> Stmt:
    stage = Stage(form, target)
    strategy, candidate = choose_strategy(stage)
    return strategy.apply(stage, candidate)


def _serial(s: Stmt) -> Stmt:
    """What one thread does."""
    return rewrite_stmt(s, lambda x: For(x.var, x.extent, x.body) if isinstance(x, For) and x.kind == PARALLEL else x)
