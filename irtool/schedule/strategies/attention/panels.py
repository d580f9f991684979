"""The columns of scores in panels: one register tile wide, computed for all rows of a tile before the next panel.

The keys of a panel are contiguous, so that they stay in the L1 cache for all rows, and need few pages (Goto & van de Geijn,
Anatomy of High-Performance Matrix Multiplication, 2008).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ....symbolic_int import bound, is_known
from ....tir.expr import Expr, Load, Var, const, rewrite, substitute
from ....tir.forms import Loop, Map, Reduction
from ....tir.stmt import Buffer, Scope, Store
from ...core.affine import moves


@dataclass(frozen=True)
class Panel:
    """A panel of `width` columns: panel number `number` begins at column `first`. `loop`: the loop over panels of this width, if
    there are several."""

    number: Expr
    first: Expr
    width: int
    loop: Loop | None = None


@dataclass(frozen=True)
class Panels:
    """`columns` in panels of `width`, and one or two for the remainder: full vectors of `lanes`, which may overlap others.

    If only the run knows the columns, one panel has those that fill no other. `is_padded`: the last vector of these is full, too; the
    operand is a copy that has zeros there.
    """

    columns: int
    width: int
    lanes: int
    is_padded: bool = False

    @property
    def count(self) -> int:
        """The number of panels of the full width."""
        return self._computed // self.width

    @property
    def _computed(self) -> int:
        """The number of columns that are computed."""
        return -(-self.columns // self.lanes) * self.lanes if self.is_padded else self.columns

    @property
    def rest(self) -> list[tuple[int, int]]:
        """The first column and the width of the other panels."""
        left = self._computed - self.count * self.width
        if not is_known(left):
            return [(self.count * self.width, left)]
        needed = -(-left // self.lanes)
        if not needed:
            return []
        first = needed // 2 if needed * self.lanes > self.columns else 0
        last = (needed - first) * self.lanes
        earlier = [(0, first * self.lanes)] if first else []
        return [*earlier, (self.columns - last, last)]

    def __iter__(self) -> Iterator[Panel]:
        if self.count == 1:
            yield Panel(const(0), const(0), self.width)
        elif self.count:
            n = Var("panel")
            yield Panel(n, n * self.width, self.width, (n, self.count))
        for number, (first, width) in enumerate(self.rest):
            yield Panel(const(self.count + number), const(first), width)

    def packed(self, r: Reduction, operand: Load, name: str) -> tuple[list[Map], Reduction, Buffer]:
        """Copies of an operand of a product, panel by panel, and the product that reads them as `name[…, k, j]`; `in_panel`
        inserts the panel."""
        *rows, (v, _) = r.loops
        (k, depth) = r.inner[0]
        around = [x for x in rows if moves(operand, x[0])]
        exact = replace(self, is_padded=False)
        total = exact.count + len(exact.rest)
        widest = max(bound(panel.width) for panels in (exact, self) for panel in panels)
        buffer = Buffer(name, [*(n for _, n in around), total, depth, widest], operand.dtype, Scope.GLOBAL)
        fills = []
        for panel in exact:
            own = {x: Var(x.name) for x in (*(x for x, _ in around), k, v)}
            loops = [(own[x], n) for x, n in around]
            loops += [panel.loop] if panel.loop else []
            loops += [(own[k], depth), (own[v], panel.width)]
            values: dict[Expr, Expr] = {x: y if x is not v else panel.first + y for x, y in own.items()}
            place = (*(own[x] for x, _ in around), panel.number, own[k], own[v])
            fills.append(Map(tuple(loops), (Store(buffer, place, substitute(operand, values)),)))
        if self.is_padded:
            fills.append(self._zeros(buffer))
        read = Load(buffer, (*(x for x, _ in around), const(0), k, v))
        return fills, replace(r, update=rewrite(r.update, lambda e: read if e is operand else e)), buffer

    def _zeros(self, copy: Buffer) -> Map:
        """Zeros in the columns of a copy behind the last one, to a full vector."""
        *around, _, depth, _ = copy.shape
        loops = [(Var(f"ax{n}"), extent) for n, extent in enumerate(around)]
        k, pad = Var("k"), Var("pad")
        place = [*(v for v, _ in loops), const(self.columns // self.width), k, pad + self.columns % self.width]
        zero = Store(copy, place, const(0, copy.dtype))
        return Map((*loops, (k, depth), (pad, self._computed - self.columns)), (zero,))

    def in_panel(self, r: Reduction, keys: Buffer | None, panel: Panel) -> Reduction:
        """The product in a panel: `r` has its columns, and reads the copy of `packed`."""
        column = r.loops[-1][0]

        def read(e: Expr) -> Expr:
            if isinstance(e, Load) and e.source is keys:
                return Load(keys, (*e.indices[:-3], panel.number, e.indices[-2], column))
            return e

        return replace(r, update=rewrite(r.update, read)) if keys is not None else r
