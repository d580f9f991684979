"""Windows whose rows can be combined before their columns; see `primitives.separate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...tir.expr import Binary, Cast, Const, Expr, Load, Var, substitute, substitution
from ...tir.simplify import Simplifier
from ...tir.stmt import Buffer, Store
from ..core.affine import depends, loads, simplifier, stride
from ..core.forms import Loop, Map, Reduction
from ..core.guards import existing_elements


@dataclass(frozen=True)
class ReducedWindows:
    """What is known of the one operand of a reduction over windows.

    Attributes:
        reduction: which it is, and `along`, its vector axis, of `extent` steps.
        operand: what is read.
        columns: the loops over a window that move along the vector axis; `rows`: the others.
        axis: the operand's axis that moves with the vector axis, by `step`; `offset`: its index where all loops begin.
        first: the first index along it that exists; `last`: the last.
        guards: conditions on other axes.
    """

    reduction: Reduction
    along: Var
    extent: int
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
    def exact_width(self) -> int:
        """Columns that windows reach."""
        terms, _ = Simplifier().linear(self.operand.indices[self.axis])
        return self.step * (self.extent - 1) + sum(terms[k] * (n - 1) for k, n in self.columns) + 1

    @property
    def is_dense(self) -> bool:
        """True if windows lie side by side and reach all columns there are: rows of the intermediate result may follow each other
        without a gap, and their columns be combined as if they were one row."""
        reached = self.step * self.extent
        return self.first <= self.offset and self.exact_width <= reached <= self.last - self.offset + 1

    def shift(self, lanes: int) -> int:
        """Columns before the first one, so that the first that exists in the operand is at the beginning of a vector."""
        return -max(0, self.first - self.offset) % lanes

    def width(self, lanes: int) -> int:
        """Columns of a row of the intermediate result: whole vectors, unless rows follow each other."""
        if self.is_dense:
            return self.step * self.extent
        terms, _ = Simplifier().linear(self.operand.indices[self.axis])
        beyond = sum(terms[k] * (n - 1) for k, n in self.columns)
        results = -(-self.extent // lanes) * lanes
        # One more than is needed: vectors of every second element are cut from two of neighbours.
        needed = self.shift(lanes) + self.step * (results - 1) + beyond + self.step
        return -(-needed // lanes) * lanes

    def existing(self, lanes: int) -> tuple[int, int]:
        """The columns of a row that stand for elements of the operand: first, and one after the last."""
        shift = self.shift(lanes)
        return max(0, self.first - self.offset) + shift, min(self.width(lanes), self.last - self.offset + 1 + shift)

    def margins(self, buffer: Buffer, loops: Sequence[Loop], lanes: int) -> list[Map]:
        """What stands beside them."""
        begin, end = self.existing(lanes)
        maps = []
        for low, high in ((self.shift(lanes), begin), (end, buffer.shape[-1])):
            if high > low:
                column = Var("col")
                own = [(Var(f"row{n}" if len(loops) > 1 else "row"), extent) for n, (_, extent) in enumerate(loops)]
                store = Store(buffer, (*(x for x, _ in own), column + low), self.reduction.init)
                maps.append(Map((*own, (column, high - low)), (store,)))
        return maps

    def combined(self, buffer: Buffer, loops: Sequence[Loop], values: Mapping[Expr, Expr], lanes: int) -> Reduction:
        """The rows of windows, for each of their columns. `values`: what axes are in terms of loops."""
        r = self.reduction
        begin, end = self.existing(lanes)
        column = Var("col")
        over = (*loops, (column, end - begin))
        simplify = simplifier(over, self.rows)
        acc = r.acc.replace()
        indices = [
            column + (begin - self.shift(lanes) + self.offset) if n == self.axis else substitute(i, values)
            for n, i in enumerate(self.operand.indices)
        ]
        read = Load(self.operand.source, tuple(simplify(i) for i in indices))
        assert isinstance(r.update, Binary)
        value = substitute(r.update.b, {self.operand: read})
        guards = tuple(simplify(substitute(g, values)) for g in self.guards)
        update = Binary(r.update.op, Load(acc, ()), value, r.acc.dtype)
        store = Store(buffer, (*(x for x, _ in loops), column + begin), Load(acc, ()))
        return Reduction(over, acc, r.init, self.rows, update, (store,), guards)

    def reader(
        self, buffer: Buffer, inside: Sequence[Loop], rows: Sequence[Loop], values: Mapping[Expr, Expr], lanes: int
    ) -> Reduction:
        """The columns of windows; `inside`: the loops over results, `rows`: those of them that the intermediate result has."""
        r = self.reduction
        simplify = simplifier(inside, self.columns)
        at = simplify(self.operand.indices[self.axis] - self.offset + self.shift(lanes))
        assert isinstance(r.update, Binary)
        read = Load(buffer, (*(x for x, _ in rows), at))
        update = Binary(r.update.op, r.update.a, read, r.acc.dtype)
        moved = substitution(values)
        stores = tuple(s.rewritten(lambda e: simplify(moved(e))) for s in r.stores)
        return Reduction(tuple(inside), r.acc, r.init, self.columns, update, stores)


def find_windows(r: Reduction, along: Var, extent: int, channels: int = 0) -> ReducedWindows | None:
    """None unless the reduction is a sum or an extreme of the elements of windows, which move along an axis: by up to three elements,
    or by any number of columns that have so many `channels` each."""
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
    simplify = simplifier(r.loops, r.inner)
    forms = [simplify.linear(i) for i in value.indices]
    if any(depends(o, x) for o in uneven(value, simplify) for x in (along, *(k for k, _ in r.inner))):
        return None
    moving = [n for n, (terms, _) in enumerate(forms) if along in terms]
    step = stride(simplify, value.source.offset(value.indices), along)
    if len(moving) != 1 or step is None:
        return None
    if channels and step % channels == 0:
        step //= channels
    elif channels or step not in (1, 2, 3):
        return None
    if forms[moving[0]][0][along] != step:
        return None
    terms, offset = forms[moving[0]]
    columns = tuple((k, n) for k, n in r.inner if k in terms)
    rows = tuple((k, n) for k, n in r.inner if k not in terms)
    if len(terms) != 1 + len(columns) or not columns or not rows or min(terms.values()) < 0:
        return None
    first, last, kept = existing_elements(value.indices[moving[0]], value.source.shape[moving[0]], r.guards, simplify)
    if any(depends(g, x) for g in kept for x in (along, *(k for k, _ in columns))):
        return None
    if sum(1 for e in loads(update) if e.source is not r.acc) != 1:
        return None
    windows = ReducedWindows(
        r, along, extent, value, columns, rows, moving[0], step, int(offset), first, last, tuple(kept)
    )
    begin, end = windows.existing(1)
    return windows if begin < end else None


def uneven(operand: Load, simplify: Simplifier) -> list[Expr]:
    """The parts of an operand's indices that are no variables: an image's number in a batch."""
    return [x for i in operand.indices for x in simplify.linear(i)[0] if not isinstance(x, Var)]
