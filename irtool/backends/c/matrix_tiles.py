"""Blocks of sums in matrix tiles, in C (see `selection.tiles`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...selection.tiles import TileBlock
from ...tir.expr import Expr, Load
from ...tir.stmt import Buffer, For
from ..formulas import matrix_tiles as texts
from ..formulas.support import ADD_TILES, ADD_VECTORS, CLEAR_TILES, STORE_TILES, TILES_BEGUN, TILES_ENDED, Helper
from .code import CodeBuilder, Directive
from .expression import Writer

_WORD = 4
"""Bytes of a word, and of a sum."""


class TilePrinter:
    """Writes the blocks of one function."""

    def __init__(
        self,
        code: CodeBuilder,
        expressions: Writer,
        place: Callable[[Buffer], str],
        open_loop: Callable[[For], None],
    ) -> None:
        self.code = code
        self.expressions = expressions
        self.place = place
        self.open_loop = open_loop

    def begin(self, configuration: Sequence[int]) -> None:
        """Opens the block in which registers are used, and configures them, unless the blocks have no common configuration."""
        self.code.open()
        if configuration:
            self.configure(configuration)

    def configure(self, configuration: Sequence[int]) -> None:
        """Configures the registers."""
        name = self.expressions.names.fresh("tiles")
        numbers = ", ".join(map(str, configuration))
        self.code.line(f"static const uint8_t {name}[64] __attribute__((aligned(64))) = {{{numbers}}};")
        self.code.line(f"{self.expressions.helper(TILES_BEGUN, name)};")

    def end(self) -> None:
        """Releases the registers."""
        self.code.line(f"{self.expressions.helper(TILES_ENDED)};")
        self.code.close()

    def write(self, b: TileBlock) -> None:
        """A block: in tiles if the system grants them, otherwise in vectors."""
        code, block = self.code, self.place(b.acc)
        code.open()
        if b.configures:
            self.configure(b.configuration)
        kind, simplify = texts.KINDS[b.signs], self.expressions.simplify
        form = texts.shape(b.acc.shape[0], b.acc.shape[2], b.wide)
        tiles, height, columns, lanes = b.acc.shape
        row, tile = _WORD * columns * lanes, _WORD * height * columns * lanes
        code.line(Directive(f"#if {texts.has_tiles(kind)}"))
        code.open("if (irt_has_tiles)")
        code.line(f"{self.expressions.helper(Helper(CLEAR_TILES, (form,)))};")
        a_row, b_row = _WORD * b.a_row, _WORD * b.b_row
        self._loops(b.sums)
        data = [self._address(b.data, b.place(b.data, n, 0, simplify)) for n in range(tiles)]
        weights = [self._address(b.weights, b.place(b.weights, 0, n, simplify)) for n in range(columns)]
        code.line(f"{self._helper(ADD_TILES, (kind, form), *data, a_row, *weights, b_row)};")
        self._close(b.sums)
        code.line(f"{self._helper(STORE_TILES, (form,), block, row, tile)};")
        code.close()
        code.line("else")
        code.line(Directive("#endif"))
        code.open()
        self._in_vectors(b, kind, block, (row, a_row, b_row))
        code.close()
        code.close()

    def _in_vectors(self, b: TileBlock, kind: str, block: str, rows: tuple[int, int, int]) -> None:
        code = self.code
        tiles, height, columns, lanes = b.acc.shape
        row, a_row, b_row = rows
        simplify = self.expressions.simplify
        code.line(f"memset({block}, 0, sizeof {block});")
        self._loops(b.sums)
        for a in range(tiles):
            for c in range(columns):
                sums = f"{block} + {a * height * columns * lanes + c * lanes}"
                data = self._address(b.data, b.place(b.data, a, 0, simplify))
                weights = self._address(b.weights, b.place(b.weights, 0, c, simplify))
                operands = (sums, row, data, a_row, weights, b_row, height, b.steps)
                code.line(f"{self._helper(ADD_VECTORS, (kind,), *operands)};")
        self._close(b.sums)

    def _helper(self, kind: str, about: tuple[str, ...], *arguments: str | int) -> str:
        return self.expressions.helper(Helper(kind, about), *map(str, arguments))

    def _loops(self, loops: Sequence[For]) -> None:
        for s in loops:
            self.open_loop(s)

    def _close(self, loops: Sequence[For]) -> None:
        for _ in loops:
            self.code.close()

    def _address(self, e: Load, offset: Expr) -> str:
        assert isinstance(e.source, Buffer)
        lines, (text,) = self.expressions.write([offset])
        self.code.lines(lines)
        return f"{self.place(e.source)} + {text}"
