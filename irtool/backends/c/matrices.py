"""Writes the sums of a tile that are products of matrices, see `vectors.matrices`.

    const irt_i64x2 v = {x[0], x[1]}, v_2 = *(const irt_i64x2_u *)w, v_3 = *(const irt_i64x2_u *)(w + 2);
    acc_0_0 = irt_vmmla_u8s8_i32x4(acc_0_0, v, v_2);
    acc_1_0 = irt_vmmla_u8s8_i32x4(acc_1_0, v, v_3);

and, behind the last of them, the rows of results:

    acc_0_0 = irt_vhalves_low_i32x4(acc_0_0, acc_1_0), acc_1_0 = …
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import Protocol

from ...tir.expr import Const, Expr, Load
from ...tir.simplify import Simplifier
from ...tir.stmt import Buffer, For
from ..formulas.vector_math import c_name
from ..formulas.vector_matrices import PRODUCTS, REORDERED, TYPES
from ..formulas.vector_types import vector_type
from ..interface.names import Identifiers
from ..vectors import ir
from ..vectors.matrices import LANES, MatrixTile, Update
from .code import CodeBuilder

_WORDS = vector_type("int64", 2)


class LoopWriter(Protocol):
    """The writer of the loops around a tile."""

    names: Identifiers
    code: CodeBuilder
    simplify: Simplifier
    registers: dict[ir.Register, str]
    vector_functions: dict[tuple[str, str, int], None]
    vector_types: dict[tuple[str, int], None]

    def value(self, e: Expr) -> str: ...

    def place(self, b: Buffer) -> str: ...


class MatrixPrinter:
    """Writes one tile's sums."""

    def __init__(self, tile: MatrixTile, writer: LoopWriter) -> None:
        self.tile = tile
        self.writer = writer
        self.product = next(name for name, dot in PRODUCTS.items() if dot == tile.dot)
        self.second: dict[tuple[int, ...], str] = {}
        """The other accumulator of a row that has no other row beside it."""

    def begin(self) -> None:
        """Declares the accumulators that the tile lacks."""
        for row in sorted({u.row for u in self.tile.updates.values()}):
            if self.tile.partner(row) is None:
                name = self.second[row] = self.writer.names.fresh(f"{self._accumulator(row)}_beside")
                self.writer.code.line(f"{vector_type('int32', LANES)} {name} = {{0}};")

    def print(self, loops: Sequence[For]) -> None:
        """Sums one behind the other: those that two rows have of the same columns together, and all that they read once."""
        code = self.writer.code
        left = [self.tile.updates[s] for s in loops]
        words: dict[tuple[int, Expr, Expr | None], str] = {}
        columns: dict[tuple[Expr, ...], tuple[str, str]] = {}
        code.open()
        while left:
            one = left.pop(0)
            other = self._beside(one, left)
            if other is not None:
                left.remove(other)
            both = (one, other) if other is None or one.row < other.row else (other, one)
            key = (one.row[0] % 2 if other is None else 0, both[0].word, both[1].word if both[1] else None)
            if key not in words:
                words[key] = self._declare(self._words(*both))
            if one.places not in columns:
                columns[one.places] = self._columns(one, 0), self._columns(one, 2)
            low, high = self._accumulators(one.row)
            for acc, part in zip((low, high), columns[one.places]):
                operands = (part, words[key]) if self.tile.columns_first else (words[key], part)
                code.line(f"{acc} = {self._call(self.product, acc, *operands)};")
        code.close()

    def end(self) -> None:
        """Puts the accumulators into the order of rows."""
        names = list(REORDERED)
        first, second = names[2:] if self.tile.columns_first else names[:2]
        done: set[str] = set()
        for row in sorted({u.row for u in self.tile.updates.values()}):
            low, high = self._accumulators(row)
            if low in done:
                continue
            done.add(low)
            if row in self.second:
                self.writer.code.line(f"{low} = {self._call(first, low, high)};")
                continue
            self.writer.code.open()
            kept = self.writer.names.fresh("v")
            self.writer.code.line(f"const {vector_type('int32', LANES)} {kept} = {low};")
            self.writer.code.line(f"{low} = {self._call(first, kept, high)};")
            self.writer.code.line(f"{high} = {self._call(second, kept, high)};")
            self.writer.code.close()

    def _beside(self, one: Update, others: Sequence[Update]) -> Update | None:
        """What the other row of a pair adds of the same columns."""
        partner = self.tile.partner(one.row)
        return next(
            (u for u in others if u.row == partner and all(map(is_, u.places, one.places))),
            None,
        )

    def _words(self, even: Update, odd: Update | None) -> str:
        """The words of two rows; a row without another has zeros beside it."""
        if odd is None:
            word = self.writer.value(even.word)
            is_odd = len(even.row) > 1 and even.row[0] % 2
            return f"({_WORDS}){{{f'0, {word}' if is_odd else f'{word}, 0'}}}"
        a, b = even.word, odd.word
        if isinstance(a, Load) and isinstance(b, Load) and a.source is b.source and isinstance(a.source, Buffer):
            if len(a.indices) == len(b.indices) == 1:
                return self._two(a.source, self.writer.simplify(a.indices[0]), self.writer.simplify(b.indices[0]))
        return f"({_WORDS}){{{self.writer.value(a)}, {self.writer.value(b)}}}"

    def _columns(self, u: Update, first: int) -> str:
        """The words of two columns."""
        return self._declare(self._two(u.columns, *u.places[first : first + 2]))

    def _two(self, b: Buffer, first: Expr, second: Expr) -> str:
        """Two words of a buffer: in one read where they lie one after the other."""
        place = f"{self.writer.place(b)} + {self.writer.value(first)}"
        apart = self.writer.simplify(second - first)
        if isinstance(apart, Const) and apart.value == 1:
            return f"*(const {_WORDS}_u *)({place})"
        return f"({_WORDS}){{{self.writer.value(Load(b, (first,)))}, {self.writer.value(Load(b, (second,)))}}}"

    def _declare(self, value: str) -> str:
        name = self.writer.names.fresh("v")
        self.writer.code.line(f"const {_WORDS} {name} = {value};")
        return name

    def _accumulator(self, row: tuple[int, ...]) -> str:
        return self.writer.registers[self.tile.acc, row]

    def _accumulators(self, row: tuple[int, ...]) -> tuple[str, str]:
        """Those of the first two columns and of the other two."""
        partner = self.tile.partner(row)
        if partner is None:
            return self._accumulator(row), self.second[row]
        return self._accumulator(min(row, partner)), self._accumulator(max(row, partner))

    def _call(self, name: str, *args: str) -> str:
        self.writer.vector_functions[name, "int32", LANES] = None
        self.writer.vector_types.update(dict.fromkeys(TYPES[name]))
        return f"{c_name(name, 'int32', LANES)}({', '.join(args)})"
