"""The stages of an attention for a tile of rows.

Every value between the products belongs to a row of the first one, and to a column or to the entire row, whatever its shape:
reshapes keep offsets. So its indices are the digits of a row's number, and each read and write has a position in the tile.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ....tir import dtypes
from ....tir.bf16_dot import DTYPE
from ....tir.expr import Binary, Cast, Const, Expr, Load, Var, const, post_order, rewrite, substitute
from ....tir.forms import AnyForm, Loop, Map, Reduction
from ....tir.simplify import Simplifier
from ....tir.stmt import Buffer, Scope, Store
from ...core.affine import operands
from ...core.products import sum_of_products
from .panels import Panel


class NotRows(Exception):
    """A stage reads or writes other elements than those of its row and its column."""


def is_product(form: AnyForm) -> bool:
    """True for a product of matrices: float32 sums of products of two operands, both float32 or both bfloat16, or of their
    words."""
    product = sum_of_products(form)
    if product is None or not isinstance(form, Reduction) or len(form.loops) < 2 or len(form.inner) != 1:
        return False
    return form.acc.dtype == "float32" and product.a.dtype == product.b.dtype != "float16"


def is_rounded(product: Reduction) -> bool:
    """True if the operands of a product are bfloat16."""
    return all(e.dtype == DTYPE for e in operands(product))


@dataclass
class TiledRows:
    """The rows of a tile: `height` rows from `first` on, among the `extent` rows of one of `count` products.

    `number` is the variable of the product; each has `columns` columns. `is_end`: the tile has the rows that fill no other.
    """

    count: int
    extent: int
    columns: int
    height: int
    is_end: bool = False
    number: Var = field(default_factory=lambda: Var("n"))
    first: Var = field(default_factory=lambda: Var("first"))

    @property
    def total(self) -> int:
        """The number of rows of all products."""
        return self.count * self.extent

    def simplifier(self, *loops: Loop) -> Simplifier:
        """A simplifier that knows the ranges of the tile, and of loops."""
        known: dict[Expr, tuple[float, float]] = {v: (0, n - 1) for v, n in loops}
        return Simplifier({self.number: (0, self.count - 1), self.first: (0, self.extent - self.height), **known})

    def row(self, i: Expr) -> Expr:
        """The number of a tile's row `i` among all rows."""
        return (self.number * self.extent if self.count != 1 else const(0)) + self.first + i

    def digits(self, loops: Sequence[Loop], i: Expr, simplify: Simplifier) -> dict[Expr, Expr]:
        """The values of the loops over all rows for row `i` of the tile."""
        rest = self.row(i)
        values: dict[Expr, Expr] = {}
        for v, n in reversed(loops):
            values[v] = simplify(rest % n)
            rest = simplify(rest // n)
        return values


Place = Callable[[Buffer, Expr, Expr | None], tuple[Buffer, tuple[Expr, ...]]]
"""The position in the tile of an element of a buffer, from its row in the tile and its column."""


class Tiler:
    """Stages over all rows as stages over the rows of a tile. `inner`: the buffers between the products, which `place` maps to
    the tile."""

    def __init__(self, rows: TiledRows, inner: set[Buffer], place: Place) -> None:
        self.rows = rows
        self.inner = inner
        self.place = place

    def map(self, m: Map, row: Var | None = None) -> Map:
        """An elementwise stage, for one `row` if given. Raises NotRows if it cannot be tiled."""
        i, j = Var("i") if row is None else row, Var("j")
        total = math.prod(n for _, n in m.loops)
        wide = total == self.rows.total * self.rows.columns
        if not wide and total != self.rows.total:
            raise NotRows
        if wide and (not m.loops or m.loops[-1][1] != self.rows.columns):
            raise NotRows
        loops: tuple[Loop, ...] = ((i, self.rows.height), *([(j, self.rows.columns)] if wide else []))
        simplify = self.rows.simplifier(*loops)
        values = self.rows.digits(m.loops[:-1] if wide else m.loops, i, simplify)
        if wide:
            values[m.loops[-1][0]] = j
        stores = tuple(self._store(s, values, simplify, i, j if wide else None) for s in m.stores)
        return Map(loops if row is None else loops[1:], stores)

    def reduction(self, r: Reduction, row: Var | None = None) -> Reduction:
        """A sum, or an extreme, of each row, or of one `row` if given. Raises NotRows if it cannot be tiled."""
        if math.prod(n for _, n in r.loops) != self.rows.total or len(r.inner) != 1 or r.guards:
            raise NotRows
        i, (k, n) = Var("i") if row is None else row, r.inner[0]
        if n != self.rows.columns:
            raise NotRows
        loops: tuple[Loop, ...] = ((i, self.rows.height),)
        simplify = self.rows.simplifier(*loops, (k, n))
        values = self.rows.digits(r.loops, i, simplify)
        stores = tuple(self._store(s, values, simplify, i, None) for s in r.stores)
        return replace(
            r, loops=loops if row is None else (), update=self._change(r.update, values, simplify, i, k), stores=stores
        )

    def check(self, form: AnyForm) -> None:
        """Raises NotRows if an elementwise stage accesses other elements than those of the row and the column of its result."""
        if not isinstance(form, Map):
            raise NotRows
        Tiler(self.rows, self.inner, lambda b, i, j: (b, (i,) if j is None else (i, j))).map(form)

    def first(self, r: Reduction, panel: Panel) -> Reduction:
        """The product that computes the rows, in a panel of their columns. Raises NotRows if it cannot be tiled."""
        i, j = Var("i"), Var("j")
        loops: tuple[Loop, ...] = ((i, self.rows.height), (j, panel.width))
        simplify = self.rows.simplifier(*loops, *r.inner, *([panel.loop] if panel.loop else []))
        column = simplify(panel.first + j)
        values = {**self.rows.digits(r.loops[:-1], i, simplify), r.loops[-1][0]: column}
        update = self._change(r.update, values, simplify, i, None)
        stores = tuple(self._store(s, values, simplify, i, column) for s in r.stores)
        return replace(r, loops=loops, update=update, stores=stores)

    def last(self, r: Reduction, finish: Callable[[Expr, Expr], Expr]) -> Reduction:
        """The product that sums the rows up; `finish` gives the stored value for a sum and its row in the tile. Raises NotRows if
        it cannot be tiled."""
        i, (d, width) = Var("i"), r.loops[-1]
        loops: tuple[Loop, ...] = ((i, self.rows.height), (d, width))
        (k, n) = r.inner[0]
        if n != self.rows.columns or math.prod(m for _, m in r.loops[:-1]) != self.rows.total:
            raise NotRows
        simplify = self.rows.simplifier(*loops, (k, n))
        values = self.rows.digits(r.loops[:-1], i, simplify)
        update = self._change(r.update, values, simplify, i, k)
        sum_of = Load(r.acc, ())
        stores = []
        for s in r.stores:
            value = rewrite(s.value, lambda e: finish(sum_of, i) if _is_sum(e, r.acc) else e)
            indices = [simplify(substitute(x, values)) for x in s.indices]
            stores.append(Store(s.buffer, indices, self._change(value, values, simplify, i, None)))
        return replace(r, loops=loops, update=update, stores=tuple(stores))

    def _store(self, s: Store, values: Mapping[Expr, Expr], simplify: Simplifier, i: Expr, j: Expr | None) -> Store:
        if s.buffer not in self.inner:
            raise NotRows
        indices = [simplify(substitute(x, values)) for x in s.indices]
        buffer, element = self._at(s.buffer, indices, simplify, i, j)
        return Store(buffer, element, self._change(s.value, values, simplify, i, j))

    def _change(self, e: Expr, values: Mapping[Expr, Expr], simplify: Simplifier, i: Expr, j: Expr | None) -> Expr:
        def to_tile(x: Expr) -> Expr:
            if not isinstance(x, Load) or x.source not in self.inner:
                return x
            buffer, element = self._at(x.source, x.indices, simplify, i, j)
            return Load(buffer, element)

        return simplify(rewrite(e, to_tile, dict(values)))

    def _at(
        self, b: Buffer, indices: Sequence[Expr], simplify: Simplifier, i: Expr, j: Expr | None
    ) -> tuple[Buffer, tuple[Expr, ...]]:
        row = self.rows.row(i)
        wide = b.size == self.rows.total * self.rows.columns
        if (wide and j is None) or (not wide and b.size != self.rows.total):
            raise NotRows
        expected = row * self.rows.columns + j if wide and j is not None else row
        difference = simplify(b.offset(indices) - expected)
        if not isinstance(difference, Const) or difference.value != 0:
            raise NotRows
        return self.place(b, i, j if wide else None)


def _is_sum(e: Expr, acc: Buffer) -> bool:
    return isinstance(e, Load) and e.source is acc


def quotient(form: AnyForm) -> tuple[Load, Load] | None:
    """The dividend and the divisor of a stage that divides, and possibly rounds to 16 bits; None for other stages."""
    if not isinstance(form, Map) or len(form.stores) != 1:
        return None
    value = form.stores[0].value
    while isinstance(value, Cast) and (dtypes.is_half(value.dtype) or dtypes.is_half(value.value.dtype)):
        value = value.value
    if isinstance(value, Binary) and value.op == "/" and isinstance(value.a, Load) and isinstance(value.b, Load):
        return value.a, value.b
    return None


def packed(r: Reduction, operand: Load, name: str, scope: Scope = Scope.GLOBAL) -> tuple[Map, Reduction]:
    """A copy of an operand of a product in the order of its loops, contiguous along the last, and the product that reads it."""
    used = {x for i in operand.indices for x in post_order(i)}
    loops = [x for x in (*r.loops[:-1], *r.inner, r.loops[-1]) if x[0] in used]
    buffer = Buffer(name, [n for _, n in loops], operand.dtype, scope)
    own = [Var(v.name) for v, _ in loops]
    moved: dict[Expr, Expr] = {v: x for (v, _), x in zip(loops, own)}
    source = substitute(operand, moved)
    fill = Map(tuple((x, n) for x, (_, n) in zip(own, loops)), (Store(buffer, tuple(own), source),))
    read = Load(buffer, tuple(v for v, _ in loops))
    return fill, replace(r, update=rewrite(r.update, lambda e: read if e is operand else e))
