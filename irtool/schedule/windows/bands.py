"""Padded copies in bands of rows: a convolution's padded input is computed for a few rows at a time.

    pad[…] = …                       for band:
    for o, y, x: … pad[y + ky] …  ⇒    pad'[…] = … of the band's rows
                                       for o, y in band, x: … pad'[y - first + ky] …

The copy stays in cache, and the workspace shrinks to one band.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ...symbolic_int import bound, estimate, is_known
from ...tir.dtypes import itemsize
from ...tir.expr import Const, Expr, Load, Var, substitute
from ...tir.stmt import Buffer, For, If, Scope, Stmt, Store, pre_order, rewrite_stmt, seq
from ...tir.vector_target import VectorTarget
from ..core.affine import loads, simplifier
from ..core.forms import Map, Reduction, substituted
from .divisors import proper_divisors


@dataclass(frozen=True)
class Band:
    """The size of bands of a copy along `axis`: those for `rows` steps of a `loop` of its reader.

    Bands begin `stride * rows` rows of the copy apart, and have `height` rows.
    """

    axis: int
    loop: int
    rows: int
    stride: int
    height: int


@dataclass(frozen=True)
class _Rows:
    """An axis of a copy that depends on a loop of its reader, with a `stride`; inner loops `reach` further."""

    axis: int
    loop: int
    stride: int
    reach: int

    def band(self, rows: int) -> Band:
        return Band(self.axis, self.loop, rows, self.stride, self.stride * (rows - 1) + self.reach + 1)


@estimate
def choose_rows(copy: Map, reader: Reduction, target: VectorTarget) -> Band | None:
    """The bands of the copy that the reduction reads; None if it cannot be cut, or is small.

    Bands of a copy that overlap are computed several times in part. Where memory is scarce, the largest bands within `band_bytes` are chosen, and
    those of single rows if all are larger; a copy whose steps read one row alone, such as that for a convolution of 1 x 1, is cut as well.
    """
    b = copy.stores[0].buffer
    read = _only_read(copy, reader)
    scarce = target.has_little_memory
    if read is None or b.nbytes < 2 * target.band_bytes or not (scarce or target.vector_bytes):
        return None
    if b.layout is None and _shares_small_steps(copy, reader, read, target.scratch_bytes):
        return None
    for window_rows in _rows(copy, reader, read):
        if not (window_rows.reach or scarce):
            continue
        extent = reader.loops[window_rows.loop][1]
        rest = bound(math.prod(size for _, size in reader.loops[window_rows.loop + 1 :]))
        others = math.prod(d for n, d in enumerate(b.shape) if n != window_rows.axis)
        row_bytes = bound(others) * itemsize(b.dtype)
        least = 1 if scarce else -(-target.band_results // max(1, rest))
        bands = [window_rows.band(rows) for rows in _divisors(extent) if rows >= least]
        fitting = [band for band in bands if band.height * row_bytes <= target.band_bytes]
        best = (fitting or bands)[-1 if fitting else 0] if bands else None
        if best is not None and best.height * 2 <= b.shape[window_rows.axis]:
            return best
    return None


def _divisors(extent: int) -> list[int]:
    """The divisors of an extent; of one that only the run knows, powers of two, if possible such that divide it at all lengths. Bands of
    single rows were measured to take up to a fifth longer."""
    if is_known(extent):
        return proper_divisors(extent)
    powers = [n for n in (1 << k for k in range(1, 6)) if 2 * n <= bound(extent)]
    return [n for n in powers if extent % n == 0] or powers


def find_band(copy: Map, reader: Reduction, loop: int, rows: int) -> Band | None:
    """The copy cut for `rows` steps of a loop of its reader, which they must divide if it is a number; None if it cannot be cut along that
    loop."""
    read = _only_read(copy, reader)
    extent = reader.loops[loop][1]
    if read is None or rows < 1 or (is_known(extent) and extent % rows):
        return None
    return next((x.band(rows) for x in _rows(copy, reader, read) if x.loop == loop), None)


def _only_read(copy: Map, reader: Reduction) -> Load | None:
    """The only read, in a reduction, of a copy in the workspace."""
    b = copy.stores[0].buffer
    reads = [e for e in _loads(reader) if e.source is b]
    return reads[0] if len(copy.stores) == 1 and b.scope == Scope.GLOBAL and len(reads) == 1 else None


def _rows(copy: Map, reader: Reduction, read: Load) -> Iterator[_Rows]:
    b = copy.stores[0].buffer
    variables = {v for v, _ in copy.loops}
    simplify = simplifier(reader.loops, reader.inner)
    for axis in range(b.ndim - 1):
        index = copy.stores[0].indices[axis]
        if not isinstance(index, Var) or index not in variables or _is_split(b, axis):
            continue
        terms, offset = simplify.linear(read.indices[axis])
        spatial = [(n, terms[v]) for n, (v, _) in enumerate(reader.loops) if v in terms]
        inner = {v: k for v, k in terms.items() if any(v is x for x, _ in reader.inner)}
        if len(spatial) != 1 or offset or len(spatial) + len(inner) != len(terms):
            continue
        loop, stride = spatial[0]
        if stride >= 1 and min(inner.values(), default=0) >= 0:
            reach = sum(k * (n - 1) for v, k in inner.items() for x, n in reader.inner if x is v)
            if not is_known(reach):
                continue
            yield _Rows(axis, loop, stride, reach)


def _shares_small_steps(copy: Map, reader: Reduction, read: Load, small: int) -> bool:
    """True if copy and reader can share loops over some axes (an image's channels, each of which is read alone), and the copy for
    one step of these loops is small."""
    own, outside = {v for v, _ in copy.loops}, {v for v, _ in reader.loops}
    steps = 1
    for index, i, extent in zip(copy.stores[0].indices, read.indices, read.source.shape):
        if not ((index in own or isinstance(index, Const)) and (i in outside or isinstance(i, Const))):
            break
        steps *= extent
    return steps != 1 and read.source.nbytes // steps <= small


def _loads(r: Reduction) -> list[Load]:
    return loads(r.update, *(s.value for s in r.stores))


def _is_split(b: Buffer, axis: int) -> bool:
    return b.layout is not None and sum(1 for a, _, _ in b.layout if a == axis) > 1


@dataclass(frozen=True)
class _Limit:
    """The limit of the rows of a band: `var` counts them from the row `first` on, of `extent` in all. They are stored to `targets`."""

    var: Var
    first: Expr
    extent: int
    targets: frozenset[Buffer]

    def on(self, nest: Stmt) -> Stmt | None:
        """The nest without steps for other rows; None if some of its stores are in no loop over the rows of the band."""
        loops: list[For] = []

        def change(s: Stmt) -> Stmt:
            if not isinstance(s, For) or s.var is not self.var:
                return s
            loops.append(s)
            inside = If(self.first + self.var < self.extent, s.body)
            return For(s.var, s.extent, inside, s.kind, s.unroll)

        result = rewrite_stmt(nest, change)
        return result if sum(map(self._stores, loops)) == self._stores(nest) else None

    def _stores(self, nest: Stmt) -> int:
        return sum(1 for s in pre_order(nest) if isinstance(s, Store) and s.buffer in self.targets)


@dataclass(frozen=True)
class Banded:
    """A copy and its reader, cut into bands: `outer` runs over `count` bands; `buffer` has one band of the buffer `whole`. With `limits`, for
    the copy and for the reader, the last band may have fewer rows than others."""

    outer: Var
    count: int
    whole: Buffer
    buffer: Buffer
    copy: Map
    reader: Reduction
    limits: tuple[_Limit, ...] = ()

    def assemble(self, copy: Stmt, reader: Stmt) -> Stmt | None:
        """The loop over bands around the two scheduled nests; None if their schedules split the loops over the rows of a shorter band."""
        nests: list[Stmt | None] = [copy, reader]
        if self.limits:
            nests = [limit.on(nest) for limit, nest in zip(self.limits, (copy, reader), strict=True)]
        return For(self.outer, self.count, seq([n for n in nests if n is not None])) if None not in nests else None


def cut(copy: Map, reader: Reduction, band: Band) -> Banded:
    """The two nests for one band, in terms of the variable that runs over bands."""
    old = copy.stores[0].buffer
    shape = [band.height if n == band.axis else d for n, d in enumerate(old.shape)]
    layout = None
    if old.layout is not None:
        layout = tuple((a, d, band.height if a == band.axis else e) for a, d, e in old.layout)
    new = old.replace(shape=shape, layout=layout)
    outer = Var("band")
    store = copy.stores[0]
    row = store.indices[band.axis]
    assert isinstance(row, Var)
    y, extent = reader.loops[band.loop]
    inside = Var(y.name)
    copy_row = Var(row.name)
    first = outer * (band.rows * band.stride)

    copied: dict[Expr, Expr] = {row: first + copy_row}
    indices = [copy_row if n == band.axis else i for n, i in enumerate(store.indices)]
    loops = tuple((copy_row, band.height) if v is row else (v, n) for v, n in copy.loops)
    new_copy = Map(loops, (Store(new, indices, substitute(store.value, copied)),))

    # Of rows of the whole copy, rows of the band.
    place: dict[Expr, Expr] = {y: outer * band.rows + inside}
    read = _only_read(copy, reader)
    assert read is not None
    of_whole = [substitute(i, place) for i in read.indices]
    of_band = Load(new, tuple(i - first if n == band.axis else i for n, i in enumerate(of_whole)))
    count = -(-extent // band.rows)
    limits: tuple[_Limit, ...] = ()
    if not is_known(extent) and extent % band.rows != 0:
        limits = (
            _Limit(copy_row, first, old.shape[band.axis], frozenset([new])),
            _Limit(inside, outer * band.rows, extent, frozenset(s.buffer for s in reader.stores)),
        )
    new_loops = tuple((inside, band.rows) if v is y else (v, n) for v, n in reader.loops)
    banded = substituted(reader, {**place, read: of_band}, ((outer, count), *new_loops))
    return Banded(outer, count, old, new, new_copy, replace(banded, loops=new_loops), limits)
