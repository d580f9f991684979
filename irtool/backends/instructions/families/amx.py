"""AMX: `tdpbusd` and its like add the products of a tile of 16 rows of 16 words and one of 16 words of 16 columns to one of 16 x 16 sums.

Tiles are registers by number. `tdpbf16ps` sums first and second numbers separately (see `formulas.matrix_tiles`). Macros of Clang
before 16 lack an underscore. The rows have no LLVM IR: LLVM assigns the registers of its tile types itself.

Source: Intel, Software Developer's Manual, volume 2.
"""

from __future__ import annotations

from ..row import TILES, Form, InstructionSet, Row

SETS = tuple(InstructionSet(f"amx_{x}", "x86_64", f"amx-{x}", f"__AMX_{x.upper()}__") for x in ("tile", "int8", "bf16"))

_NAMES = {"u8s8": "usd", "s8u8": "sud", "s8s8": "ssd", "u8u8": "uud", "bf16": "f16ps"}


def _row(instruction: str, kinds: tuple[str, ...], depth: int, name: str) -> Row:
    forms = tuple(Form(f"tiles_{kind}", 1, f"_tile_dpb{_NAMES[kind]}($acc, $a, $b);") for kind in kinds)
    when = {16: tuple((f"__AMX{_}TILE__", f"__AMX{_}{name}__") for _ in ("_", ""))}
    return Row(instruction, "x86_64", rows=16, columns=16, depth=depth, when=when, forms=forms)


ROWS = (
    _row("tdpb(us|su|ss|uu)d", tuple(x.removeprefix("tiles_") for x in TILES if x != "tiles_bf16"), 4, "INT8"),
    _row("tdpbf16ps", ("bf16",), 2, "BF16"),
)
