"""Plans for a transformed convolution: sizes of tiles, tiles at a time, bands, channels at a time."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from ....diagnostics import UsageError
from ....symbolic_int import bound, estimate, is_known
from ....tir.memory import KERNEL_SCRATCH
from ....tir.vector_target import VectorTarget
from ...core.lane_steps import are_side_by_side
from ...cost.machine import FLOAT32_BYTES, MANY_TILES, WIDEST_TILE
from .convolution import Convolution
from .cook_toom import POINTS, points_of, transforms
from .tiling import Tiling, sizes

SIZES = (2, 4)
"""The possible results of a tile along an axis."""


@estimate
def plans_of_size(c: Convolution, size: int, lanes: int, target: VectorTarget, filter_count: int = 0) -> list[Tiling]:
    """Plans for tiles of one size; for blocks of `filter_count` filters, if given.

    A tile's data are on the stack if weights are few; otherwise data are in bands, on the stack or in the workspace. If only the run
    knows the number of tiles, bands have a constant number of blocks, or there is one band.
    """
    rows, columns = _tiles(c, size)
    count = c.images * rows * columns
    if any(points_of(size, *of) > len(POINTS) for of in zip(c.windows, c.strides)):
        return []
    along = zip(sizes(size, c.windows), c.windows, c.strides)
    products = prod(transforms(*of).products for of in along)
    on_stack: list[Tiling] = []
    others: list[Tiling] = []
    few = weight_bytes(c, products) * 2 <= target.streamed_bytes
    for filters in [filter_count] if filter_count else [n * lanes for n in (1, 2, 3, 4)]:
        if c.filters_of_group % filters:
            continue
        for tiles in _tiles_at_once(count, few):
            blocks = -(-count // tiles)
            whole = Tiling(size, c.windows, c.strides, c.images, rows, columns, tiles, blocks, 0, filters, lanes)
            results, data = _result_bytes(whole), data_bytes(c, whole)
            if few and results + data <= min(target.l2_cache_bytes // 2, KERNEL_SCRATCH):
                on_stack.append(whole)
                continue
            if results > min(target.tiles_bytes, KERNEL_SCRATCH):
                continue
            limit = target.streamed_bytes // 2
            if results + data <= KERNEL_SCRATCH:
                least = _bands(blocks, data, min(limit, KERNEL_SCRATCH - results))
                counts = sorted(n for n in {1, 2, 4, least + least % 2} if least <= n <= blocks)
                others += [_in_bands(replace(whole, own=True), n, is_on_stack=True) for n in counts]
            others.append(_in_bands(whole, min(int(blocks), _bands(blocks, data, limit))))
    return on_stack or others


def tiling_by_hand(
    c: Convolution, tile: int, tiles: int, filters: int, lanes: int, bands: int = 0, own: int = 0, blocks: int = 0
) -> Tiling:
    """The plan of a schedule by hand. Raises UsageError if the convolution cannot have it."""
    if tile not in SIZES:
        raise UsageError(f"tiles have {' or '.join(map(str, SIZES))} results along an axis, not {tile}")
    if not is_side_by_side(c, lanes):
        raise UsageError(f"operands and results are no contiguous vectors of {lanes} channels")
    if filters < lanes or filters % lanes or c.filters_of_group % filters:
        raise UsageError(
            f"{filters} output channels at a time are no whole vectors of {lanes}, or do not divide {c.filters_of_group}"
        )
    rows, columns = _tiles(c, tile)
    count = c.images * rows * columns
    if not 0 < tiles <= bound(count):
        raise UsageError(f"there are {count} tiles, and a block cannot have {tiles}")
    all_blocks = -(-count // tiles)
    if not 0 <= bands <= bound(all_blocks) or not 0 <= blocks <= bound(all_blocks) or (bands and blocks):
        kind = f"bands of {blocks} blocks" if blocks else f"{bands} bands"
        raise UsageError(f"{all_blocks} blocks of {tiles} tiles cannot form {kind}")
    if own not in (0, 1) or (own and not (bands or blocks)):
        raise UsageError("own=1 is for bands", help="bands=1, own=1")
    each = blocks or -(-all_blocks // max(1, bands))
    bands = bands or (-(-all_blocks // blocks) if blocks else 0)
    t = Tiling(tile, c.windows, c.strides, c.images, rows, columns, tiles, each, bands, filters, lanes, bool(own))
    nbytes = _result_bytes(t) + (0 if bands and not own else bound(data_bytes(c, t)))
    if nbytes > KERNEL_SCRATCH:
        taken = each * tiles if own else tiles
        raise UsageError(f"{taken} tiles would take {nbytes} bytes of the stack", help="fewer tiles, or bands=1")
    return t


def is_side_by_side(c: Convolution, lanes: int) -> bool:
    """True if vectors of `lanes` channels, a power of two, are contiguous in all operands and results, and belong to one group of
    filters."""
    return c.filters_of_group % lanes == 0 and are_side_by_side(c.form, [(c.data, c.channel)], c.filters, lanes)


def _tiles_at_once(count: int, few: bool) -> list[int]:
    """The possible numbers of tiles in a block, among `count`: more unless weights are `few`, as each block reads them from
    memory."""
    count = int(count)
    some = range(min(4, count), min(2 * WIDEST_TILE, count) + 1)
    return [*some] if few else sorted({*some, *(n for n in (count, *MANY_TILES) if n <= min(count, MANY_TILES[-1]))})


def _bands(blocks: int, data: int, limit: int) -> int:
    """The number of bands whose data stay within `limit`, for `data` bytes of a block."""
    return -(-int(blocks) // max(1, limit // data))


def _in_bands(t: Tiling, bands: int, is_on_stack: bool = False) -> Tiling:
    """The plan with its blocks in `bands` bands, at the greatest number of blocks if only the run knows it: a band on the stack has a
    constant number of blocks, and so has one of several."""
    if is_known(t.blocks) or (bands == 1 and not is_on_stack):
        return replace(t, blocks=-(-t.blocks // bands), bands=bands)
    return _of_blocks(t, -(-int(t.blocks) // bands))


def _of_blocks(t: Tiling, blocks: int) -> Tiling:
    """The plan with `blocks` blocks in each band."""
    return replace(t, blocks=blocks, bands=-(-t.blocks // blocks))


def _tiles(c: Convolution, size: int) -> tuple[int, int]:
    """The rows and columns of tiles of that size in an image."""
    height, width = sizes(size, c.windows)
    return c.rows.tiles(height), c.columns.tiles(width)


def weight_bytes(c: Convolution, products: int) -> int:
    """Bytes of transformed weights."""
    return products * c.steps * c.filters[1] * FLOAT32_BYTES


def _result_bytes(t: Tiling) -> int:
    """Bytes of the products of a block of tiles."""
    return t.tiles * t.products * t.filters * FLOAT32_BYTES


def data_bytes(c: Convolution, t: Tiling) -> int:
    """Bytes of the transformed data of a band, or of a block."""
    return t.tiles * (t.blocks if t.bands else 1) * t.products * c.inputs * FLOAT32_BYTES
