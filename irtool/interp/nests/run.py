"""Runs the statements of a loop nest.

The lanes of a moment are the steps of the loops that run at once: an array of values has an axis for each of them, the loop
entered last in front, so that what was computed outside fits by itself. A mask tells which lanes do anything.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from typing import Any

from ...deferred import np
from ...diagnostics import IrError
from ...ops.dtypes import numpy_dtype
from ...tir.expr import Binary, Const, Expr, Var
from ...tir.sharing import loop_bounds
from ...tir.stmt import (
    Allocate,
    AllocateConst,
    Annotate,
    Buffer,
    For,
    If,
    Let,
    Prefetch,
    PrimFunc,
    Seq,
    Stmt,
    Store,
    While,
)
from ...trampoline import trampoline
from .dependence import ASK, IN_TURN, REDUCED, Way, way_of
from .expressions import ExpressionCode
from .functions import REDUCTIONS, function_of, reduced

_LANES = 1 << 19
"""Steps that run at once: arrays of some megabytes."""

_ENOUGH = 1 << 11
"""With so many lanes, a reduction runs its steps one after the other: an array for all of them would only cost memory."""


def run_nest(f: PrimFunc, inputs: Sequence[Any]) -> list[np.ndarray]:
    """The outputs of a nest, in their original shapes; elements that it does not write are zeros."""
    return Nest(f).run(inputs)


class Nest:
    """A nest that is run, once or several times."""

    def __init__(self, f: PrimFunc) -> None:
        self.function = f
        self.bounds = loop_bounds(f)
        self.codes: dict[Expr, ExpressionCode] = {}
        self.ways: dict[For, Way] = {}
        self.places: dict[Store, Expr] = {}
        self.memory: dict[Buffer, tuple[np.ndarray, int]] = {}
        self.values: dict[Var, Any] = {}
        self.lanes: tuple[int, ...] = ()
        self.mask: Any = None

    def run(self, inputs: Sequence[Any]) -> list[np.ndarray]:
        """The outputs for these inputs."""
        f = self.function
        count = len(f.inputs)
        self.memory = {}
        for b, x in zip(f.inputs, inputs, strict=True):
            flat = np.ascontiguousarray(x).astype(numpy_dtype(b.dtype), copy=False).reshape(-1)
            if flat.size != b.size:
                raise IrError(f"@{f.name}: {b.name} has {b.size} elements, and {flat.size} are given")
            self.memory[b] = flat, 0
        for b in f.outputs:
            self.memory[b] = np.zeros(b.size, numpy_dtype(b.dtype)), 0
        self.values, self.lanes, self.mask = {}, (), None
        with np.errstate(all="ignore"):
            trampoline(self.statement(f.body))
        shapes = [b.shape for b in f.original_params[count:]]
        return [self.memory[b][0].reshape(s) for b, s in zip(f.outputs, shapes, strict=True)]

    # -- statements, as generators: they nest without limit ------------------------------------------------------------

    def statement(self, s: Stmt) -> Generator[Any, Any, None]:
        if isinstance(s, Store):
            self.store(s)
        elif isinstance(s, Seq):
            for part in s.stmts:
                yield self.statement(part)
        elif isinstance(s, For):
            yield self.loop(s)
        elif isinstance(s, Let):
            self.values[s.var] = self.value(s.value)
            yield self.statement(s.body)
        elif isinstance(s, Allocate):
            depth, size = len(self.lanes), s.buffer.size
            shape = (math.prod(self.lanes), size) if depth else (size,)
            self.memory[s.buffer] = np.zeros(shape, numpy_dtype(s.buffer.dtype)), depth
            yield self.statement(s.body)
            del self.memory[s.buffer]
        elif isinstance(s, AllocateConst):
            self.memory[s.buffer] = np.ascontiguousarray(s.data).reshape(-1).view(numpy_dtype(s.buffer.dtype)), 0
            yield self.statement(s.body)
            del self.memory[s.buffer]
        elif isinstance(s, If):
            yield self.branch(s)
        elif isinstance(s, Annotate):
            yield self.statement(s.body)
        elif not isinstance(s, Prefetch):  # which changes nothing
            assert isinstance(s, While)
            around = self.mask
            while self.narrow(self.value(s.cond)):
                yield self.statement(s.body)
            self.mask = around

    def branch(self, s: If) -> Generator[Any, Any, None]:
        around, cond = self.mask, self.value(s.cond)
        if self.narrow(cond):
            yield self.statement(s.then)
        self.mask = around
        if s.other is not None:
            if self.narrow(np.logical_not(cond)):
                yield self.statement(s.other)
            self.mask = around

    def narrow(self, cond: Any) -> bool:
        """Keeps the lanes in which a condition holds, too; False if no lane is left."""
        if not cond.ndim:
            return bool(cond)
        self.mask = cond if self.mask is None else np.logical_and(self.mask, cond)
        return bool(self.mask.any())

    def loop(self, s: For) -> Generator[Any, Any, None]:
        dtype = numpy_dtype(s.var.dtype)
        if not isinstance(s.extent, Const):
            yield self.counted(s, dtype)
            return
        extent = int(s.extent.value)
        if extent <= 0:
            return
        way = self.ways.get(s)
        if extent == 1:
            self.values[s.var] = dtype.type(0)
            yield self.statement(s.body)
            return
        if way is None:
            way = self.ways[s] = way_of(s, self.bounds)
        lanes = math.prod(self.lanes)
        how = way.how
        if how == REDUCED:
            if lanes < _ENOUGH and self.mask is None:
                self.reduce(way)
                return
            how = IN_TURN
        chunk = max(1, min(extent, _LANES // max(1, lanes * way.elements)))
        if chunk == 1 or (how == ASK and not self.differ(s, way, extent)):
            how = IN_TURN
        if how == IN_TURN:
            for n in range(extent):
                self.values[s.var] = dtype.type(n)
                yield self.statement(s.body)
            return
        around = self.lanes
        for begin in range(0, extent, chunk):
            size = min(chunk, extent - begin)
            self.lanes = (size, *around)
            self.values[s.var] = np.arange(begin, begin + size, dtype=dtype).reshape(size, *(1,) * len(around))
            yield self.statement(s.body)
        self.lanes = around

    def counted(self, s: For, dtype: Any) -> Generator[Any, Any, None]:
        """A loop that runs as often as data says, in each lane."""
        extent = self.value(s.extent)
        around = self.mask
        for n in range(int(np.max(extent, initial=0))):
            self.values[s.var] = dtype.type(n)
            if self.narrow(extent > n):
                yield self.statement(s.body)
            self.mask = around

    def differ(self, s: For, way: Way, extent: int) -> bool:
        """True if the places that the steps write are all different."""
        around = self.lanes
        if math.prod(around) * extent > _LANES:
            return False
        self.lanes = (extent, *around)
        v = np.arange(extent, dtype=numpy_dtype(s.var.dtype)).reshape(extent, *(1,) * len(around))
        self.values[s.var] = v
        positions = [np.broadcast_to(self.value(p, masked=True), self.lanes).reshape(extent, -1) for p in way.asked]
        self.lanes = around
        return all(len(np.unique(column)) == extent for p in positions for column in p.T)

    def reduce(self, way: Way) -> None:
        """All steps of a reduction, in as few arrays as there is room for."""
        update, value = way.update, way.value
        assert update is not None and value is not None and isinstance(update.value, Binary)
        outer = self.lanes
        extents = [int(x.extent.value) for x in way.loops if isinstance(x.extent, Const)]
        steps = math.prod(extents)
        if not steps:
            return
        block_size = max(1, _LANES // max(1, math.prod(outer)))
        place = self.value(self.place(update))
        total = self.load(update.buffer, place, True)
        combine = function_of(update.value)
        for begin in range(0, steps, block_size):
            size = min(block_size, steps - begin)
            self.lanes = (size, *outer)
            index = np.arange(begin, begin + size).reshape(size, *(1,) * len(outer))
            for x, n in zip(reversed(way.loops), reversed(extents), strict=True):
                self.values[x.var] = (index % n).astype(numpy_dtype(x.var.dtype))
                index = index // n
            values = np.broadcast_to(self.value(value), self.lanes)
            self.lanes = outer
            total = combine(total, _reduced(update.value.op, values, combine))
        self.put(update.buffer, place, total)

    # -- memory --------------------------------------------------------------------------------------------------------

    def value(self, e: Expr, masked: bool = False) -> Any:
        code = self.codes.get(e)
        if code is None:
            code = self.codes[e] = ExpressionCode(e)
        return code.run(self.values, self, masked or self.mask is not None)

    def place(self, s: Store) -> Expr:
        """The place of a stored element, from the beginning of the buffer."""
        place = self.places.get(s)
        if place is None:
            place = self.places[s] = s.buffer.offset(s.indices)
        return place

    def load(self, buffer: Buffer, place: Any, checked: bool) -> Any:
        data, depth = self.memory[buffer]
        if checked:
            self.check(buffer, place)
        elif not data.size:
            return data.dtype.type(0)
        elif place.ndim:
            place = np.clip(place, 0, buffer.size - 1)
        else:
            place = max(0, min(int(place), buffer.size - 1))
        return data[self.lane(depth), place] if depth else data[place]

    def store(self, s: Store) -> None:
        self.put(s.buffer, self.value(self.place(s)), self.value(s.value))

    def put(self, buffer: Buffer, place: Any, value: Any) -> None:
        data, depth = self.memory[buffer]
        if self.mask is not None:
            mask = np.broadcast_to(self.mask, self.lanes)
            place = np.broadcast_to(place, self.lanes)[mask]
            value = np.broadcast_to(value, self.lanes)[mask]
            self.check(buffer, place)
            if depth:
                data[np.broadcast_to(self.lane(depth), self.lanes)[mask], place] = value
            else:
                data[place] = value
            return
        self.check(buffer, place)
        if depth:
            data[self.lane(depth), place] = value
        else:
            data[place] = value

    def lane(self, depth: int) -> Any:
        """The number of each lane, among those that there were when there were `depth` loops."""
        around = self.lanes[len(self.lanes) - depth :]
        return np.arange(math.prod(around)).reshape(around)

    def check(self, buffer: Buffer, place: Any) -> None:
        if not place.ndim:
            inside = 0 <= place < buffer.size
        else:
            inside = not place.size or (place.min() >= 0 and place.max() < buffer.size)
        if not inside:
            raise IrError(f"@{self.function.name} leaves the {buffer.size} elements of {buffer.name}")


def _reduced(op: str, values: Any, combine: Any) -> Any:
    """The first axis combined."""
    if op in REDUCTIONS:
        return reduced(op, values)
    if values.dtype.kind not in "biu" and np.isnan(values).any():  # among NaNs, the order decides
        total = values[0]
        for n in range(1, len(values)):
            total = combine(total, values[n])
        return total
    while len(values) > 1:
        even = len(values) // 2 * 2
        rest = values[even:]
        values = np.concatenate([combine(values[:even:2], values[1:even:2]), rest])
    return values[0]
