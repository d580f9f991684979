"""Windows whose rows can be combined before their columns; see `primitives.combine_rows`.

The intermediate result has a row for each row of results, with a column for each column of the operand in a window, and all
channels of a column if images have a few contiguous ones. The initial value of the reduction fills the columns beyond the
operand.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...symbolic_int import as_integer, bound, is_known
from ...tir.expr import Binary, Cast, Const, Expr, Load, Var, substitute
from ...tir.forms import AnyForm
from ...tir.simplify import Simplifier
from ...tir.stmt import PARALLEL, SERIAL, Allocate, Buffer, For, Scope, Stmt, Store, seq
from ..core.affine import depends, loads, simplifier, stride
from ..core.forms import Loop, Map, Reduction, substituted
from ..core.guards import existing_elements, extract_predicates
from ..core.staged import StagedNest, StagedNestBuilder
from ..cost.machine import FEWEST_LANES


@dataclass(frozen=True)
class SeparableWindows:
    """The one operand of a reduction over windows, and its axes.

    Attributes:
        reduction: the reduction.
        along: the loop over columns of results.
        channels: the loop over the few channels of a column, inside of `along`; a loop of one step for images without.
        operand: the operand that windows read.
        columns: the loops over a window that move along the columns.
        rows: the other loops over a window.
        axis: the operand's axis that moves with the columns.
        step: the stride of its index along the columns.
        offset: its index at the beginning of all loops.
        first: the first index along it that exists.
        last: the last index along it that exists.
        guards: conditions on other axes.
    """

    reduction: Reduction
    along: Loop
    channels: Loop
    operand: Load
    columns: tuple[Loop, ...]
    rows: tuple[Loop, ...]
    axis: int
    step: int
    offset: int
    first: int
    last: int
    guards: tuple[Expr, ...]

    @property
    def _beyond(self) -> int:
        """The columns of a window behind its first one."""
        terms, _ = Simplifier().linear(self.operand.indices[self.axis])
        return sum(terms[k] * (n - 1) for k, n in self.columns)

    @property
    def is_apart(self) -> bool:
        """True if neighbouring results read elements that are not contiguous."""
        return self.step > 1

    @property
    def is_dense(self) -> bool:
        """True if windows are contiguous and cover all columns.

        Rows of the intermediate result may then follow each other without a gap, and their columns be combined like one row.
        """
        reached = self.step * self.along[1]
        needed = reached - self.step + self._beyond + 1
        return self.first <= self.offset and needed <= reached <= self.last - self.offset + 1

    def shift(self, lanes: int) -> int:
        """Columns before the first one, so that the first column that exists in the operand is at the beginning of a vector."""
        return -max(0, self.first - self.offset) % lanes

    def width(self, lanes: int) -> int:
        """Columns of a row of the intermediate result: full vectors, unless rows follow each other without a gap."""
        if self.is_dense:
            return self.step * self.along[1]
        results = -(-self.along[1] // lanes) * lanes
        # One more than needed: vectors of every second element are cut from two vectors of neighbours.
        needed = self.shift(lanes) + self.step * results + self._beyond
        return -(-needed // lanes) * lanes

    def existing(self, lanes: int) -> tuple[int, int]:
        """The columns of a row that have elements of the operand: the first, and one after the last."""
        shift = self.shift(lanes)
        return max(0, self.first - self.offset) + shift, min(self.width(lanes), self.last - self.offset + 1 + shift)

    def margins(self, buffer: Buffer, row: Loop, lanes: int) -> list[Map]:
        """The stages that fill the columns before and after the existing ones."""
        begin, end = self.existing(lanes)
        channels, width = self.channels[1], self.width(lanes)
        maps = []
        for low, high in ((self.shift(lanes), begin), (end, width)):
            if high > low:
                column = Var("col")
                place = row[0] * (width * channels) + column + low * channels
                store = Store(buffer, (place,), self.reduction.init)
                maps.append(Map((row, (column, (high - low) * channels)), (store,)))
        return maps

    def combined(self, buffer: Buffer, row: Loop, lanes: int) -> Reduction:
        """The reduction of the rows of windows, for each column."""
        r, (c, channels) = self.reduction, self.channels
        begin, end = self.existing(lanes)
        column = Var("col")
        over = (row, (column, end - begin), *([self.channels] if channels > 1 else []))
        acc = r.acc.replace()
        indices = list(self.operand.indices)
        indices[self.axis] = column + (begin - self.shift(lanes) + self.offset)
        assert isinstance(r.update, Binary)
        value = substitute(r.update.b, {self.operand: Load(self.operand.source, tuple(indices))})
        update = Binary(r.update.op, Load(acc, ()), value, r.acc.dtype)
        place = (column + begin) * channels + c if channels > 1 else column + begin
        store = Store(buffer, (row[0] * (self.width(lanes) * channels) + place,), Load(acc, ()))
        return Reduction(over, acc, r.init, self.rows, update, (store,), self.guards, windows=r.windows)

    def reader(self, buffer: Buffer, row: Loop, lanes: int) -> Reduction:
        """The reduction of the columns of windows, from the combined rows."""
        r, (c, channels) = self.reduction, self.channels
        column = self.operand.indices[self.axis] - self.offset + self.shift(lanes)
        place = row[0] * (self.width(lanes) * channels) + (column * channels + c if channels > 1 else column)
        assert isinstance(r.update, Binary)
        read = Load(buffer, (simplifier(r.loops, self.columns)(place),))
        update = Binary(r.update.op, r.update.a, read, r.acc.dtype)
        loops = (row, self.along, *([self.channels] if channels > 1 else []))
        return Reduction(loops, r.acc, r.init, self.columns, update, r.stores, windows=r.windows)

    @property
    def outside(self) -> tuple[Loop, ...]:
        """The loops over results other than those over columns, channels and the innermost rows."""
        own = {self.along[0], self.channels[0], self.row[0]}
        return tuple(x for x in self.reduction.loops if x[0] not in own)

    @property
    def row(self) -> Loop:
        """The innermost loop over results along which windows move too."""
        row = _moving_row(self)
        assert row is not None, "find_windows ensures it"
        return row

    def nest(self, height: int, lanes: int, shared: bool) -> StagedNest:
        """The nest for `height` rows at a time: `before` and `after`, which fill the columns beyond the operand; `rows`;
        `columns`."""
        extent, stages = self.row[1], StagedNestBuilder()
        whole = extent // height
        bands = [(0, whole, height), *([(whole * height, 1, extent % height)] if extent % height else [])]
        return stages.nest(seq([self._band(stages, band, lanes, shared) for band in bands]))

    def _band(self, stages: StagedNestBuilder, band: tuple[int, int, int], lanes: int, shared: bool) -> Stmt:
        """A band of rows `(first, count, size)`."""
        first, count, size = band
        y, _ = self.row
        number, own = Var("band"), Var(y.name, y.dtype)
        values: dict[Expr, Expr] = {y: (number * size if count != 1 else 0) + own + first}
        rows = (own, size)
        around = [*self.outside, *([(number, count)] if count != 1 else [])]
        loops = (*around, rows, self.along, *([self.channels] if self.channels[1] > 1 else []))
        w = _windows_along(substituted(self.reduction, values, loops, self.reduction.inner), self.along, self.channels)
        assert w is not None, "a band has the windows of the whole"
        shape = [size * w.width(lanes) * self.channels[1]]
        buffer = Buffer("rows", shape, self.reduction.acc.dtype, Scope.LOCAL)
        begin, _ = w.existing(lanes)
        margins = w.margins(buffer, rows, lanes)
        names = ["before", "after"] if begin > w.shift(lanes) else ["after"]
        named_stages: list[tuple[str, Map | Reduction]] = [
            *zip(names, margins),
            ("rows", w.combined(buffer, rows, lanes)),
            ("columns", w.reader(buffer, rows, lanes)),
        ]
        places = [stages.add(stages.free_name(name), form, private=bool(around)) for name, form in named_stages]
        body: Stmt = Allocate(buffer, seq(places))
        for n, (v, extent) in reversed(list(enumerate(around))):
            body = For(v, extent, body, PARALLEL if shared and n == 0 else SERIAL)
        return body


def find_windows(form: AnyForm) -> SeparableWindows | None:
    """The windows of a sum or an extreme that move along contiguous columns of results, or columns of a few channels, and along
    rows.

    None for other forms.
    """
    if not isinstance(form, Reduction):
        return None
    r = extract_predicates(form)
    simplify = simplifier(r.loops, r.inner)
    steps = [[stride(simplify, s.buffer.offset(s.indices), v) for s in r.stores] for v, _ in r.loops]
    for n in range(len(r.loops) - 1, -1, -1):
        one = (Var("one"), 1)
        channels = (
            r.loops[-1]
            if n == len(r.loops) - 2 and is_known(r.loops[-1][1]) and 1 < r.loops[-1][1] <= FEWEST_LANES
            else one
        )
        contiguous = channels[1] == 1 or all(s == 1 for s in steps[-1])
        if bound(r.loops[n][1]) >= FEWEST_LANES and contiguous and all(s == channels[1] for s in steps[n]):
            windows = _windows_along(r, r.loops[n], channels)
            if windows is not None and _moving_row(windows) is not None:
                return windows
    return None


def _windows_along(r: Reduction, along: Loop, channels: Loop) -> SeparableWindows | None:
    """The windows that move along a loop, with a step of up to three elements, or of any number of columns of several
    channels."""
    update = r.update
    if (
        not isinstance(update, Binary)
        or update.op not in ("+", "max", "min", "maximum", "minimum")
        or not isinstance(r.init, Const)
    ):
        return None
    value = update.b
    while isinstance(value, Cast):
        value = value.value
    if not isinstance(value, Load) or not isinstance(update.a, Load) or update.a.source is not r.acc:
        return None
    if (update.op == "+" and r.init.value != 0) or value.source.layout is not None or value.source is r.acc:
        return None
    v = along[0]
    simplify = simplifier(r.loops, r.inner)
    forms = [simplify.linear(i) for i in value.indices]
    if any(depends(o, x) for o in _uneven(value, simplify) for x in (v, *(k for k, _ in r.inner))):
        return None
    moving = [n for n, (terms, _) in enumerate(forms) if v in terms]
    if len(moving) != 1:
        return None
    (axis,) = moving
    terms, offset = forms[axis]
    step = as_integer(terms[v])
    if stride(simplify, value.source.offset(value.indices), v) != step * channels[1]:
        return None
    if channels[1] == 1 and step > 3:
        return None
    if channels[1] > 1 and not _has_channels(r, value, axis, channels):
        return None
    columns = tuple((k, n) for k, n in r.inner if k in terms)
    rows = tuple((k, n) for k, n in r.inner if k not in terms)
    if len(terms) != 1 + len(columns) or not columns or not rows or min(terms.values()) < 0:
        return None
    first, last, guards = existing_elements(value.indices[axis], value.source.shape[axis], r.guards, simplify)
    if any(depends(g, x) for g in guards for x in (v, *(k for k, _ in columns))):
        return None
    if sum(1 for e in loads(update) if e.source is not r.acc) != 1:
        return None
    windows = SeparableWindows(
        r, along, channels, value, columns, rows, axis, step, as_integer(offset), first, last, tuple(guards)
    )
    begin, end = windows.existing(1)
    return windows if begin < end else None


def _has_channels(r: Reduction, operand: Load, axis: int, channels: Loop) -> bool:
    """True if the columns of an operand have these channels, and no others, contiguously."""
    c, extent = channels
    channel_axes = [n for n, i in enumerate(operand.indices) if depends(i, c)]
    last = len(operand.indices) - 1
    is_last = channel_axes == [last] and axis == last - 1 and operand.indices[last] is c
    return is_last and operand.source.shape[-1] == extent and not any(depends(g, c) for g in r.guards)


def _moving_row(w: SeparableWindows) -> Loop | None:
    """The innermost loop over results along which windows move, apart from columns; None without one, or if a loop moves
    nothing."""
    r = w.reduction
    simplify = simplifier(r.loops, r.inner)
    terms = [simplify.linear(i)[0] for i in w.operand.indices]
    uneven = _uneven(w.operand, simplify)
    fixed = {x for x, _ in r.loops if any(depends(o, x) for o in uneven)}
    if any(x not in fixed and not any(x in t for t in terms) for x, _ in r.loops):
        return None
    return next(
        (
            (x, n)
            for x, n in reversed(r.loops)
            if x is not w.along[0] and x not in fixed and any(x in t and any(k in t for k, _ in w.rows) for t in terms)
        ),
        None,
    )


def _uneven(operand: Load, simplify: Simplifier) -> list[Expr]:
    """The terms of an operand's indices that are no variables, such as an image's number in a batch."""
    return [x for i in operand.indices for x in simplify.linear(i)[0] if not isinstance(x, Var)]
