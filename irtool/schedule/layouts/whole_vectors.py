"""Layouts with full vectors for axes that blocks do not divide, and with wider blocks."""

from __future__ import annotations

from ...tir.bf16_dot import DTYPE
from ...tir.expr import Var
from ...tir.forms import Reduction
from ...tir.memory import CACHE_LINE
from ...tir.stmt import Buffer
from ...tir.vector_target import VectorTarget
from ..core.affine import operands
from ..cost.machine import WIDEST_TILE
from ..cost.register_tiles import is_avx2
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
    dtypes_stored = {s.buffer.dtype for s in r.stores}
    bytes_tiled = target.byte_tiles > 1 and bool(dtypes_stored & {"int8", "uint8"})
    pairs_tiled = target.pair_tiles > 1 and DTYPE in dtypes_stored
    most = CACHE_LINE if bytes_tiled else CACHE_LINE // 2 if pairs_tiled else 0
    wide = next((n for n in range(most // factor * factor, factor, -factor) if extent % n == 0), 0)
    wide_layouts = filled(along(r, v, wide)) if wide else None
    return (
        {b: layouts[b] if b in weights else w for b, w in wide_layouts.items()}
        if wide_layouts and wide_layouts.keys() == layouts.keys()
        else layouts
    )
