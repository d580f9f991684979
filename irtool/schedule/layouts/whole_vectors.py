"""Layouts with full vectors for axes that blocks do not divide, and with wider blocks."""

from __future__ import annotations

from ...symbolic_int import is_known
from ...tir.bf16_dot import DTYPE
from ...tir.dtypes import itemsize
from ...tir.expr import Var
from ...tir.forms import Reduction
from ...tir.memory import CACHE_LINE
from ...tir.stmt import Buffer
from ...tir.vector_target import VectorTarget
from ..core.affine import operands
from ..cost.machine import WIDEST_TILE
from ..cost.register_tiles import is_avx2
from ..instructions.matrix_tiles import WORDS
from .preference import LayoutPreference
from .vector_axis import along, filled


def padded_constants(
    r: Reduction, v: Var, extent: int, factor: int, constants: frozenset[Buffer]
) -> dict[Buffer, LayoutPreference]:
    """Blocks for constants only, with zeros at the end of the last block; kernels store only the results that exist."""
    layouts = along(r, v, factor) or {}
    moving = {e.source for e in operands(r) if e.source in layouts}
    if not moving or not moving <= constants:
        return {}
    return {b: LayoutPreference(layouts[b].axis, factor, -(-extent // factor) * factor) for b in layouts if b in moving}


def are_single(vectors: int, target: VectorTarget) -> bool:
    """True if `vectors` vectors are blocks of one vector each, and tiles that read one vector for each broadcast value are slow.

    AVX2 computes two multiply-adds a cycle, and each of them would need a load.
    """
    return is_avx2(target) and vectors >= 3 * WIDEST_TILE and all(vectors % n for n in (2, 3))


def whole_axis(
    r: Reduction, v: Var, extent: int, factor: int, constants: frozenset[Buffer]
) -> dict[Buffer, LayoutPreference]:
    """All results along an axis contiguous, in full vectors and a tail, if blocks would be half vectors or single ones.

    Examples are the pixels of 1x1 and of depthwise convolutions with 728 channels. Constants that results share are in blocks,
    padded with zeros. The result is empty for other windows: transforms and blocks of their steps work on blocks of data.
    """
    layouts = filled(along(r, v, extent))
    sources = {e.source for e in operands(r)}
    packed = sources & constants
    if not layouts or not packed:
        return {}
    if sources <= layouts.keys():
        return layouts
    if sum(1 for _, n in r.inner if n != 1) > 1:
        return {}
    return {
        b: LayoutPreference(w.axis, factor, -(-extent // factor) * factor) if b in packed else w
        for b, w in layouts.items()
    }


def with_wide_blocks(
    r: Reduction,
    v: Var,
    extent: int,
    layouts: dict[Buffer, LayoutPreference],
    factor: int,
    weights: frozenset[Buffer],
    target: VectorTarget,
) -> dict[Buffer, LayoutPreference]:
    """The preferences with wider blocks for data, if matrix tiles read the results: a row of a tile has that many bytes."""
    row = max(tile_row(s.buffer.dtype, target) for s in r.stores)
    wide = tile_block(extent, factor, row) if row else factor
    wide_layouts = filled(along(r, v, wide)) if wide != factor else None
    return (
        {b: layouts[b] if b in weights else w for b, w in wide_layouts.items()}
        if wide_layouts and wide_layouts.keys() == layouts.keys()
        else layouts
    )


def tile_row(dtype: str, target: VectorTarget) -> int:
    """The elements in a row of a matrix tile of such numbers; 0 if the processor has no tiles of them."""
    rows = target.pair_tiles if dtype == DTYPE else target.byte_tiles if dtype in ("int8", "uint8") else 1
    return CACHE_LINE // itemsize(dtype) if rows > 1 else 0


def tile_block(extent: int, factor: int, row: int) -> int:
    """The smallest of the blocks of vectors of `factor` elements that divide an axis and leave the least of a tile's row of `row` elements
    empty: 32 elements of an axis of 64, 48 in steps of 24 of one of 144."""

    def filled_part(block: int) -> int:
        words = block * WORDS // row
        return next(n for n in range(min(WORDS, words), 0, -1) if words % n == 0)

    blocks = [n for n in range(factor, extent + 1, factor) if extent % n == 0]
    return max(blocks, key=lambda n: (filled_part(n), -n))


def in_tile_rows(b: Buffer, preference: LayoutPreference, target: VectorTarget) -> LayoutPreference:
    """The preference with blocks for rows of matrix tiles.

    A stage that rounds numbers of 32 bits has their blocks otherwise, with half as many steps of a sum in a row, or a quarter.
    """
    axis, factor, row = preference.axis, preference.factor, tile_row(b.dtype, target)
    extent = b.shape[axis]
    if factor >= row or row % factor or preference.padded or not is_known(extent) or extent % factor:
        return preference
    return LayoutPreference(axis, tile_block(extent, factor, row))
