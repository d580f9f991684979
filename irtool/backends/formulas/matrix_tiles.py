"""Blocks of sums in matrix tiles (Intel's AMX; see `schedule.strategies.matrix_tile.nest`), as C text: by the instructions, and
in vectors with the same bits.

On Linux a process must ask for tiles, which each source does when it is loaded. `selection.tiles` assigns the registers of
blocks.

Compilers do not know that loading a tile reads memory (gcc 12): a barrier completes earlier stores.

Instructions that add products are rows of `backends.instructions`. Source of the others: Intel, Software Developer's Manual, volume 2; of
the permission: Linux, Documentation/arch/x86/xstate.rst.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ...tir.int8_dot import TILE
from ..instructions.listing import choices
from ..instructions.row import TILES, Form, Row
from .templates import fill
from .vector_types import vector_type

LANES = TILE
"""Columns of a tile, and lanes of the vectors of a block without tiles."""

Signs = tuple[str, str]
"""Dtypes of the numbers of the data and of the weights."""

KINDS: dict[Signs, str] = {signs: name.removeprefix("tiles_") for name, signs in TILES.items()}
"""The names of operands in names of functions: `u8s8`, `bf16`."""

_PERMISSION = """
/* Tiles, where the processor has them and Linux grants them. */
#if (defined(__AMX_TILE__) || defined(__AMXTILE__)) && defined(__x86_64__) && defined(__linux__) && defined(__GNUC__)
#define IRT_TILES 1
#include <immintrin.h>
#include <sys/syscall.h>
long syscall(long number, ...);
static int irt_has_tiles;
__attribute__((constructor)) static void irt_ask_for_tiles(void) {
  /* ARCH_REQ_XCOMP_PERM of XFEATURE_XTILE_DATA */
  irt_has_tiles = syscall(SYS_arch_prctl, 0x1023, 18) == 0;
}
#define irt_begin_tiles(config) do { if (irt_has_tiles) _tile_loadconfig(config); } while (0)
#define irt_end_tiles() do { if (irt_has_tiles) _tile_release(); } while (0)
#else
#define IRT_TILES 0
#define irt_begin_tiles(config) ((void)(config))
#define irt_end_tiles() ((void)0)
#endif
#if IRT_TILES && ($bytes)
#define IRT_BYTE_TILES 1
#else
#define IRT_BYTE_TILES 0
#endif
#if IRT_TILES && ($pairs)
#define IRT_PAIR_TILES 1
#else
#define IRT_PAIR_TILES 0
#endif"""


def ask_for_tiles() -> str:
    """The definition of the function that asks for tiles when a source is loaded, and of the macros of `has_tiles`."""
    return fill(
        _PERMISSION, **{name: _row(kind)[0].condition(LANES) for name, kind in (("bytes", "u8s8"), ("pairs", "bf16"))}
    )


def _row(kind: str) -> tuple[Row, Form]:
    """The instruction for operands of that kind."""
    return choices(f"tiles_{kind}", LANES)[0]


def has_tiles(kind: str) -> str:
    """The macro that tells if tiles exist for operands of that kind."""
    return "IRT_PAIR_TILES" if kind == "bf16" else "IRT_BYTE_TILES"


def shape(tiles: int, columns: int, wide: bool) -> str:
    """The name of a block in names of functions: `2x2`, `wide3`."""
    return f"wide{columns}" if wide else f"{tiles}x{columns}"


def _numbers(form: str) -> tuple[int, int, bool]:
    if form.startswith("wide"):
        return 1, int(form[4:]), True
    tiles, columns = map(int, form.split("x"))
    return tiles, columns, False


def _sum(a: int, c: int, wide: bool) -> int:
    """The register of a tile of sums."""
    return c if wide else 2 * a + c


def clear(form: str) -> str:
    """The function that sets the sums of a block to zero."""
    tiles, columns, wide = _numbers(form)
    zeros = "".join(f"  _tile_zero({_sum(a, c, wide)});\n" for a in range(tiles) for c in range(columns))
    return (
        f"#if IRT_TILES\nIRT_INLINE void irt_clear_tiles_{form}(void) {{\n"
        f'  __asm__ volatile("" ::: "memory");\n{zeros}}}\n#endif'
    )


def store(form: str) -> str:
    """The function that stores the sums of a block: tiles of rows one below the other, of columns next to each other. `row`:
    bytes of a row, `tile`: bytes of a tile of rows."""
    tiles, columns, wide = _numbers(form)
    stores = "".join(
        f"  _tile_stored({_sum(a, c, wide)}, sums + {a} * tile + {4 * LANES * c}, row);\n"
        for a in range(tiles)
        for c in range(columns)
    )
    return (
        f"#if IRT_TILES\nIRT_INLINE void irt_store_tiles_{form}(void *block, long row, long tile) {{\n"
        f"  char *const sums = (char *)block;\n{stores}}}\n#endif"
    )


def add(kind: str, form: str) -> str:
    """The function that adds products to the sums of a block: tiles of data at `a0` and `a1`, with rows `a_row` bytes apart,
    times tiles of weights at `b0` and following."""
    tiles, columns, wide = _numbers(form)
    data, weights = [f"a{n}" for n in range(tiles)], [f"b{n}" for n in range(columns)]
    lines: list[str] = []
    loaded: set[str] = set()

    def load(register: int, place: str, row: str) -> None:
        if place not in loaded:
            lines.append(f"  _tile_loadd({register}, {place}, {row});")
            loaded.add(place)

    for a in range(tiles):
        for c in range(columns):
            x, y = 4 + a, 5 + c % 3 if wide else 6 + c
            load(x, data[a], "a_row")
            load(y, weights[c], "b_row")
            registers = {"acc": _sum(a, c, wide), "a": x, "b": y}
            lines.append(f"  {fill(_row(kind)[1].c, **{k: str(n) for k, n in registers.items()})}")
    parameters = ", ".join(
        [*(f"const void *{x}" for x in data), "long a_row", *(f"const void *{x}" for x in weights), "long b_row"]
    )
    body = "\n".join(lines)
    return f"#if {has_tiles(kind)}\nIRT_INLINE void irt_add_tiles_{kind}_{form}({parameters}) {{\n{body}\n}}\n#endif"


# -- in vectors --------------------------------------------------------------------------------------------------------

# As a part of its callers, which call it for several tiles, it would take 3 KB of their stack.
_BLOCK = """
#if IRT_VECTOR
/* One tile of sums, $lanes columns: rows are so many bytes apart. */
static __attribute__((unused, noinline)) void irt_add_vectors_$kind(void *sums, long row, const void *data, long a_row, const void *weights, long b_row, int rows, int steps) {
  typedef int32_t word __attribute__((aligned(1), may_alias));
  char *c = (char *)sums;
  const char *a = (const char *)data;
  const char *const b = (const char *)weights;
  int w;
$groups
}
#endif
"""


def function(kind: str) -> tuple[str, str, int] | None:
    """The function on vectors that blocks of that kind call; None if they call none."""
    return (_dot(kind)[0], "int32", LANES) if kind != "bf16" else None


def types(kind: str) -> list[tuple[str, int]]:
    """The vector types of blocks of that kind."""
    return [(d, LANES) for d in ("int32", "uint32", *(("float32",) if kind == "bf16" else ()))]


def _dot(kind: str) -> tuple[str, bool]:
    """The dot product of words, and True if its first operand is the data."""
    return ("dot4_u8s8", False) if kind == "s8u8" else (f"dot4_{kind}", True)


def add_in_vectors(kind: str) -> str:
    """The function that adds products to one tile of sums, in vectors."""
    group: Callable[[int], Sequence[str]] = _pairs if kind == "bf16" else partial(_bytes, kind)
    sizes = (4, 2, 1) if kind == "bf16" else (8, 4, 2, 1)
    lines: list[str] = []
    for n in sizes:
        head = f"for (; rows >= {n}; rows -= {n}, a += {n} * a_row, c += {n} * row) {{"
        lines += [f"  {head}", *(f"    {x}" for x in group(n)), "  }"]
    return fill(_BLOCK.strip(), lanes=str(LANES), kind=kind, groups="\n".join(lines))


def _rows(n: int, text: str) -> list[str]:
    return [text.replace("#", str(r)) for r in range(n)]


def _bytes(kind: str, n: int) -> Sequence[str]:
    t, (name, first) = vector_type("int32", LANES), _dot(kind)
    operands = "x, y" if first else "y, x"
    call = f"irt_v{name}_{t[4:]}"
    return [
        *_rows(n, f"{t} s# = *({t}_u *)(c + # * row);"),
        "for (w = 0; w < steps; ++w) {",
        f"  const {t} y = *(const {t}_u *)(b + w * b_row);",
        f"  {t} x;",
        *_rows(n, f"  x = *(const word *)(a + # * a_row + 4 * w) - ({t}){{0}}; s# = {call}(s#, {operands});"),
        "}",
        *_rows(n, f"*({t}_u *)(c + # * row) = s#;"),
    ]


def _pairs(n: int) -> Sequence[str]:
    f, i, u = (vector_type(d, LANES) for d in ("float32", "int32", "uint32"))
    return [
        *_rows(n, f"{f} s# = {{0}}, t# = {{0}};"),
        "for (w = 0; w < steps; ++w) {",
        f"  const {u} y = ({u})*(const {i}_u *)(b + w * b_row);",
        f"  const {f} y0 = ({f})(y << 16), y1 = ({f})(y & 0xffff0000u);",
        f"  {u} x;",
        *_rows(
            n,
            f"  x = ({u})(*(const word *)(a + # * a_row + 4 * w) - ({i}){{0}}); "
            f"s# += ({f})(x << 16) * y0; t# += ({f})(x & 0xffff0000u) * y1;",
        ),
        "}",
        *_rows(n, f"*({f}_u *)(c + # * row) += s# + t#;"),
    ]
