"""Blocks of sums in matrix tiles, in C: the statements for a loop marked `tiled` (see `schedule.strategies.matrix_tile.nest`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...tir.expr import Call, Expr, Load, Var, const, post_order, substitute
from ...tir.int8_dot import DOTS
from ...tir.simplify import Simplifier
from ...tir.stmt import PARALLEL, TILED, Allocate, Buffer, For, Seq, Stmt, Store, expressions, pre_order
from ..formulas import matrix_tiles as texts
from ..formulas.support import ADD_TILES, ADD_VECTORS, CLEAR_TILES, STORE_TILES, TILES_BEGUN, TILES_ENDED, Helper
from .code import CodeBuilder, Directive
from .expression import Writer

_WORD = 4
"""Bytes of a word, and of a sum."""


@dataclass(frozen=True)
class TileBlock:
    """A block of sums.

    Attributes:
        kind: of the operands, see `formulas.matrix_tiles`.
        acc: the sums, in tiles of rows, rows, tiles of columns, columns.
        sums: the loops of the sum.
        data, weights: what is read, at one place, an offset in words.
        axes: the variables of the tiles of rows, the rows, the tiles of columns, the columns, the words.
        steps: words of the sum that a tile has.
        a_row, b_row: words between rows of a tile.
        wide: registers are used for a single tile of rows.
    """

    kind: str
    acc: Buffer
    sums: tuple[For, ...]
    data: Load
    weights: Load
    axes: tuple[Var, ...]
    steps: int
    a_row: int
    b_row: int
    wide: bool

    @property
    def form(self) -> str:
        """The shape of the block, as names of functions have it."""
        tiles, _, columns, _ = self.acc.shape
        return texts.shape(tiles, columns, self.wide)

    @property
    def configuration(self) -> tuple[int, ...]:
        """How registers are configured for it."""
        return tuple(texts.configuration(self.acc.shape[1], self.steps, self.wide))

    def place(self, e: Load, tile: int, column: int, simplify: Simplifier) -> Expr:
        """Where a tile of an operand begins."""
        a, i, c, j, w = self.axes
        values: dict[Expr, Expr] = {a: const(tile), c: const(column), i: const(0), j: const(0), w: const(0)}
        return simplify(substitute(e.indices[0], values))


def read_block(s: For, simplify: Simplifier, wide: bool) -> TileBlock:
    """What a loop marked `tiled` says; its elements have one offset each."""
    assert s.kind == TILED and isinstance(s.body, Seq)
    _, update = s.body.stmts
    loops: list[For] = []
    while isinstance(update, For):
        loops.append(update)
        update = update.body
    inner: list[Stmt] = list(pre_order(update))
    loops += [x for x in inner if isinstance(x, For)]
    *sums, a, i, c, j, w = loops
    stores = [x for x in inner if isinstance(x, Store)]
    acc = stores[-1].buffer
    made = {x.buffer for x in inner if isinstance(x, Allocate)} | {acc}
    nodes = post_order(*(e for x in inner for e in expressions(x)))
    reads = [e for e in nodes if isinstance(e, Load) and e.source not in made]
    data = next(e for e in reads if i.var in set(post_order(*e.indices)))
    weights = next(e for e in reads if j.var in set(post_order(*e.indices)))
    rows, deep = (simplify.linear(e.indices[0])[0] for e in (data, weights))
    dot = next((e for e in nodes if isinstance(e, Call) and e.name in DOTS), None)
    signs = ("bfloat16", "bfloat16")
    if dot is not None:
        signs = DOTS[dot.name] if dot.args[0] is data else DOTS[dot.name][::-1]
    extent = w.steps  # a strategy gave it a constant number
    return TileBlock(
        texts.KINDS[signs],
        acc,
        tuple(sums),
        data,
        weights,
        (a.var, i.var, c.var, j.var, w.var),
        extent,
        rows.get(i.var, 0),
        deep.get(w.var, 0),
        wide,
    )


def is_wide(s: For, around: Stmt) -> bool:
    """True if a block with a single tile of rows uses registers in its own way: where it has more than two tiles of columns, and
    where all blocks in the nest around have a single tile of rows."""
    tiles, columns = _shape(s)
    return tiles == 1 and (columns > 2 or all(_shape(x)[0] == 1 for x in _blocks(around)))


def configurations(around: Stmt, simplify: Simplifier) -> set[tuple[int, ...]]:
    """How registers have to be configured for the blocks of a nest."""
    return {read_block(s, simplify, is_wide(s, around)).configuration for s in _blocks(around)}


def _blocks(s: Stmt) -> list[For]:
    return [x for x in pre_order(s) if isinstance(x, For) and x.kind == TILED]


def _shape(s: For) -> tuple[int, int]:
    """Tiles of rows and of columns of a block."""
    store = next(x for x in pre_order(s) if isinstance(x, Store))
    return store.buffer.shape[0], store.buffer.shape[2]


def holds_tiles(s: Stmt) -> bool:
    """True if there is a loop marked `tiled` in a statement."""
    return bool(_blocks(s))


def begins_tiles(s: For) -> bool:
    """True if registers are configured in front of a loop, once for all blocks in it: it is the outermost one, but inside of loops
    whose parts threads share each thread has registers of its own."""
    if not holds_tiles(s):
        return False
    shared = (x for x in pre_order(s.body) if isinstance(x, For) and x.kind == PARALLEL)
    return s.kind == PARALLEL or not any(holds_tiles(x) for x in shared)


class TilePrinter:
    """Writes blocks of one function."""

    def __init__(
        self,
        code: CodeBuilder,
        expressions: Writer,
        place: Callable[[Buffer], str],
        open_loop: Callable[[For], None],
        simplify: Simplifier,
    ) -> None:
        self.code = code
        self.expressions = expressions
        self.place = place
        self.open_loop = open_loop
        self.simplify = simplify

    def begin(self, configuration: Sequence[int]) -> None:
        """Opens the block in which registers are used, and configures them; not yet, where there is no configuration for all."""
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
        """Gives the registers back."""
        self.code.line(f"{self.expressions.helper(TILES_ENDED)};")
        self.code.close()

    def write(self, b: TileBlock, configures: bool) -> None:
        """A block: in tiles where these are granted, else in vectors. It `configures` the registers if others need them otherwise."""
        code, block = self.code, self.place(b.acc)
        code.open()
        if configures:
            self.configure(b.configuration)
        tiles, height, columns, lanes = b.acc.shape
        row, tile = _WORD * columns * lanes, _WORD * height * columns * lanes
        code.line(Directive(f"#if {texts.has_tiles(b.kind)}"))
        code.open("if (irt_has_tiles)")
        code.line(f"{self.expressions.helper(Helper(CLEAR_TILES, (b.form,)))};")
        a_row, b_row = _WORD * b.a_row, _WORD * b.b_row
        self._loops(b.sums)
        data = [self._address(b.data, b.place(b.data, n, 0, self.simplify)) for n in range(tiles)]
        weights = [self._address(b.weights, b.place(b.weights, 0, n, self.simplify)) for n in range(columns)]
        code.line(f"{self._helper(ADD_TILES, (b.kind, b.form), *data, a_row, *weights, b_row)};")
        self._close(b.sums)
        code.line(f"{self._helper(STORE_TILES, (b.form,), block, row, tile)};")
        code.close()
        code.line("else")
        code.line(Directive("#endif"))
        code.open()
        self._in_vectors(b, block, (row, a_row, b_row))
        code.close()
        code.close()

    def _in_vectors(self, b: TileBlock, block: str, rows: tuple[int, int, int]) -> None:
        code = self.code
        tiles, height, columns, lanes = b.acc.shape
        row, a_row, b_row = rows
        code.line(f"memset({block}, 0, sizeof {block});")
        self._loops(b.sums)
        for a in range(tiles):
            for c in range(columns):
                sums = f"{block} + {a * height * columns * lanes + c * lanes}"
                data = self._address(b.data, b.place(b.data, a, 0, self.simplify))
                weights = self._address(b.weights, b.place(b.weights, 0, c, self.simplify))
                operands = (sums, row, data, a_row, weights, b_row, height, b.steps)
                code.line(f"{self._helper(ADD_VECTORS, (b.kind,), *operands)};")
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
