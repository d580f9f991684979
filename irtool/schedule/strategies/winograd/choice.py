"""The choice between Winograd's algorithm and a plain convolution, with tile sizes, by estimates of cycles.

Constants are those measured on a core with vectors of 64 bytes. Products of small tiles of results hardly differ between
processors; what does are the lanes, the registers and the multiply-adds a cycle, which the target has.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import inf, prod

from ....diagnostics import UsageError
from ....tir.memory import KERNEL_SCRATCH, LAST_CACHE
from ....tir.stmt import Buffer
from ....tir.vector_target import VectorTarget
from ...core.lane_steps import are_side_by_side, widest
from ...core.matrix_sums import sums
from ...core.staged import ALONE, StagedPlan, TwoThreads, choose_plan, of_two
from ...cost.gemm_cost import gemm_cost, plain_cycles, stream_cycles
from ...cost.machine import (
    BORDER_COPY,
    FLOAT32_BYTES,
    LAST_CACHE_RATE,
    SECOND_CACHE_RATE,
    TRANSFORM_SPILLS,
    WINOGRAD_GAIN,
    WINOGRAD_GAIN_OF_MEMORY,
)
from .axes import SpatialAxis
from .convolution import Convolution
from .cook_toom import POINTS, points_of, transforms
from .tiling import Tiling, sizes

SIZES = (2, 4)
"""Results of a tile along an axis."""

_MOST_TILES = 16
"""Tiles of a block: as many rows as two tiles of registers."""

_MANY_TILES = (24, 32, 48, 64)
"""Tiles of blocks for which weights come from far away."""


def beats_pairs(c: Convolution, target: VectorTarget) -> bool:
    """True if a convolution of bfloat16 numbers, whose layouts are not chosen yet, will be faster transformed than made of words of
    two."""
    if target.winograd not in ("auto", "off"):
        return _can_have_blocks(c, target) and bool(
            _tilings(c, int(target.winograd), target.lanes(FLOAT32_BYTES), target)
        )
    paired = _plain(c, target) / max(target.paired_products, target.pair_tiles // 2)
    weighed, _ = _least_cycles(c, target)
    return weighed <= paired


def saved_cycles(c: Convolution, target: VectorTarget) -> float:
    """Cycles that a convolution whose layouts are not chosen yet takes less if it is transformed; 0 where it will not be."""
    plain = _plain(c, target)
    weighed, least = _least_cycles(c, target)
    return plain - least if weighed <= plain else 0.0


def _least_cycles(c: Convolution, target: VectorTarget) -> tuple[float, float]:
    """Cycles of the best plan for a convolution, as far as layouts go that are not chosen yet: weighed, and as they are; infinite
    without one."""
    if target.winograd == "off" or not _can_have_blocks(c, target) or c.updates < target.transformed_updates:
        return inf, inf
    plans = (t for size in SIZES for t in _tilings(c, size, target.lanes(FLOAT32_BYTES), target))
    return min((_weighed(c, t, target) for t in plans), default=(inf, inf))


def _weighed(c: Convolution, t: Tiling, target: VectorTarget) -> tuple[float, float]:
    """Cycles of a plan: with what it must be better by, which are those that it may replace; and as they are."""
    cycles = _cycles(c, t, target)
    return cycles / (WINOGRAD_GAIN if _bytes(c, t.products) <= LAST_CACHE else WINOGRAD_GAIN_OF_MEMORY), cycles


def _can_have_blocks(c: Convolution, target: VectorTarget) -> bool:
    """True if channels can lie side by side, as they do behind other convolutions."""
    lanes = target.lanes(FLOAT32_BYTES)
    return not (c.channel[1] % lanes or c.filters_of_group % lanes)


def choose_tiling(c: Convolution, target: VectorTarget, wanted: str = "", room: float = inf) -> Tiling | None:
    """How to transform a convolution; None where it stays as it is, for the sake of speed or of the target's `winograd`. `wanted` is
    the label of the plan to take, if there is such a plan, whatever it costs. `room`: bytes of the workspace that make no program
    larger."""
    free = target.winograd == "auto"
    if target.winograd == "off" or (free and not wanted and c.updates < target.transformed_updates):
        return None
    lanes = widest(target, lambda n: is_side_by_side(c, n))
    if not lanes:
        return None
    sizes = SIZES if free else (int(target.winograd),)
    plans = [t for size in sizes for t in _tilings(c, size, lanes, target)]
    limit = _plain(c, target) if free else inf

    return choose_plan(
        plans,
        wanted,
        lambda t: _weighed(c, t, target)[0],
        lambda t: _shared(c, t, target),
        limit,
        lambda t: t.own or not t.bands or _data_bytes(c, t) <= room,
    )


def priced(t: Tiling, c: Convolution, target: VectorTarget) -> StagedPlan:
    """A plan with its cost and what there is to say of it."""
    cycles = _cycles(c, t, target)
    where = f"{t.tiles} of {t.count} tiles at a time, {t.filters} channels"
    share = f"{cycles / _plain(c, target):.2f} of the estimated cycles without"
    rows, columns = t.taps
    apart = "" if t.strides == (1, 1) else f", strides {t.strides[0]} and {t.strides[1]}"
    apart += "" if c.parts == (1, 1) else f", windows of {c.parts[0]} x {c.parts[1]} parts"
    reason = f"F({t.sizes[0]} x {t.size}, {rows} x {columns}{apart}), {where}, {share}"
    return StagedPlan(cycles / c.updates, reason, t.label, t.arguments, target)


def fitting(t: Tiling, c: Convolution, target: VectorTarget) -> list[Tiling]:
    """Plans for a processor that take the same weights as another plan, best first: tiles of that size, and blocks of as many filters."""
    lanes = min(t.lanes, target.lanes(FLOAT32_BYTES))
    plans = _tilings(c, t.size, lanes, target, t.filters) or [replace(t, lanes=lanes)]
    return sorted(plans, key=lambda x: _cycles(c, x, target))


def tiling_by_hand(
    c: Convolution, tile: int, tiles: int, filters: int, lanes: int, bands: int = 0, own: int = 0
) -> Tiling:
    """The plan that a schedule by hand asks for. Raises UsageError where the convolution has none such."""
    if tile not in SIZES:
        raise UsageError(f"tiles have {' or '.join(map(str, SIZES))} results along an axis, not {tile}")
    if not is_side_by_side(c, lanes):
        raise UsageError(f"vectors of {lanes} channels do not lie side by side in all that is read and written")
    if filters < lanes or filters % lanes or c.filters_of_group % filters:
        raise UsageError(
            f"{filters} output channels at a time are no whole vectors of {lanes}, or do not divide {c.filters_of_group}"
        )
    rows, columns = _tiles(c, tile)
    count = c.images * rows * columns
    if not 0 < tiles <= count:
        raise UsageError(f"there are {count} tiles, of which {tiles} cannot be taken at a time")
    blocks = -(-count // tiles)
    if not 0 <= bands <= blocks:
        raise UsageError(f"{blocks} blocks of {tiles} tiles cannot be made in {bands} bands")
    if own not in (0, 1) or (own and not bands):
        raise UsageError("own=1 is for bands", help="bands=1, own=1")
    each = -(-blocks // max(1, bands))
    t = Tiling(tile, c.windows, c.strides, c.images, rows, columns, tiles, each, bands, filters, lanes, bool(own))
    nbytes = _result_bytes(t) + (0 if bands and not own else _data_bytes(c, t))
    if nbytes > KERNEL_SCRATCH:
        taken = each * tiles if own else tiles
        raise UsageError(f"{taken} tiles would take {nbytes} bytes of the stack", help="fewer tiles, or bands=1")
    return t


def is_side_by_side(c: Convolution, lanes: int) -> bool:
    """True if so many channels, a power of two, lie side by side in all that is read and written, and are of one group of filters."""
    return c.filters_of_group % lanes == 0 and are_side_by_side(c.form, [(c.data, c.channel)], c.filters, lanes)


def _tilings(c: Convolution, size: int, lanes: int, target: VectorTarget, wanted: int = 0) -> list[Tiling]:
    """Plans for tiles of one size; with blocks of so many filters, where that is said. With all of a tile on the stack where weights
    are few; else with data in bands, on the stack or in the workspace."""
    rows, columns = _tiles(c, size)
    count = c.images * rows * columns
    if any(points_of(size, *of) > len(POINTS) for of in zip(c.windows, c.strides)):
        return []
    along = zip(sizes(size, c.windows), c.windows, c.strides)
    products = prod(transforms(*of).products for of in along)
    on_stack: list[Tiling] = []
    others: list[Tiling] = []
    few = _bytes(c, products) * 2 <= target.streamed_bytes
    for filters in [wanted] if wanted else [n * lanes for n in (1, 2, 3, 4)]:
        if c.filters_of_group % filters:
            continue
        for tiles in _tiles_at_once(count, few):
            blocks = -(-count // tiles)
            whole = Tiling(size, c.windows, c.strides, c.images, rows, columns, tiles, blocks, 0, filters, lanes)
            results, data = _result_bytes(whole), _data_bytes(c, whole)
            if few and results + data <= min(target.l2_cache_bytes // 2, KERNEL_SCRATCH):
                on_stack.append(whole)
                continue
            if results > min(target.tiles_bytes, KERNEL_SCRATCH):
                continue
            kept = target.streamed_bytes // 2
            if results + data <= KERNEL_SCRATCH:
                least = _bands(blocks, data, min(kept, KERNEL_SCRATCH - results))
                counts = sorted(n for n in {1, 2, 4, least + least % 2} if least <= n <= blocks)
                others += [_in_bands(replace(whole, own=True), n) for n in counts]
            others.append(_in_bands(whole, min(blocks, _bands(blocks, data, kept))))
    return on_stack or others


def _tiles_at_once(count: int, few: bool) -> list[int]:
    """How many of so many tiles may make a block: more where weights are not `few`, which come from far away for each block."""
    some = range(min(4, count), min(_MOST_TILES, count) + 1)
    return [*some] if few else sorted({*some, *(n for n in (count, *_MANY_TILES) if n <= min(count, _MANY_TILES[-1]))})


def _bands(blocks: int, data: int, room: int) -> int:
    """In how many bands there is room for the data of each, so many bytes for a block."""
    return -(-blocks // max(1, room // data))


def _in_bands(t: Tiling, bands: int) -> Tiling:
    """A plan with its blocks in so many bands."""
    return replace(t, blocks=-(-t.blocks // bands), bands=bands)


def _tiles(c: Convolution, size: int) -> tuple[int, int]:
    """Rows and columns of tiles of that size in an image."""
    height, width = sizes(size, c.windows)
    return c.rows.tiles(height), c.columns.tiles(width)


def _bytes(c: Convolution, products: int) -> int:
    """Bytes of transformed weights."""
    return products * c.steps * c.filters[1] * FLOAT32_BYTES


def _result_bytes(t: Tiling) -> int:
    """Bytes of the products of a block of tiles."""
    return t.tiles * t.products * t.filters * FLOAT32_BYTES


def _data_bytes(c: Convolution, t: Tiling) -> int:
    """Bytes of the transformed data of a band, or of a block."""
    return t.tiles * (t.blocks if t.bands else 1) * t.products * c.inputs * FLOAT32_BYTES


def _cycles(c: Convolution, t: Tiling, target: VectorTarget) -> float:
    """Cycles of a transformed convolution: its transforms, its products, and its weights where they come from far away."""
    steps, filters = c.steps, c.filters[1]
    kinds = t.products
    taken = t.tiles * t.blocks * max(1, t.bands)
    back = t.across.products * sums(t.down.inverse).operations + t.sizes[0] * sums(t.across.inverse).operations
    results = _transform_cycles(t.count * filters * (kinds + prod(t.sizes) + back), t, target)
    cycles = gemm_cost(t.tiles, t.filters, steps, target)
    blocks = taken // t.tiles
    multiplied = cycles * kinds * blocks * (filters // t.filters)
    if t.bands:  # what is transformed is read again for every block of filters
        rate = SECOND_CACHE_RATE if _data_bytes(c, t) <= target.streamed_bytes else LAST_CACHE_RATE
        multiplied += taken * kinds * (c.inputs + steps * (filters // t.filters)) * FLOAT32_BYTES / rate
    return _data_cycles(c, t, target) + results + multiplied + _from_memory(c, t, target)


def _data_cycles(c: Convolution, t: Tiling, target: VectorTarget) -> float:
    """Cycles in which the data is transformed."""
    (height, inputs), width = t.window, t.across.products
    sizes = height * inputs + t.products + height * sums(t.across.data).operations
    inside = (1 - _border(c.rows, t.sizes[0], height)) * (1 - _border(c.columns, t.sizes[1], inputs))
    operations = sizes + width * sums(t.down.data).operations + (1 - inside) * BORDER_COPY * height * inputs
    return _transform_cycles(t.tiles * t.blocks * max(1, t.bands) * c.inputs * operations, t, target)


@lru_cache(maxsize=64)
def _border(axis: SpatialAxis, size: int, inputs: int) -> float:
    return axis.border(size, inputs)


def _transform_cycles(operations: float, t: Tiling, target: VectorTarget) -> float:
    """Cycles of so many loads, stores and sums of single numbers."""
    return TRANSFORM_SPILLS / target.multiply_adds * operations / t.lanes


def _shared(c: Convolution, t: Tiling, target: VectorTarget) -> TwoThreads:
    """What two threads make of a plan."""
    if c.updates < target.parallel_updates:
        return ALONE
    memory = _from_memory(c, t, target)
    if t.shares_bands or not t.bands:
        return of_two(t.bands or t.blocks, 0, memory)
    parts = t.blocks * (c.filters[1] // t.filters)
    results = c.results * FLOAT32_BYTES  # as parts of rows they would be read by who wrote them
    if t.own:
        read = c.data.source.nbytes if isinstance(c.data.source, Buffer) else 0
        return of_two(parts, read + results, memory, _data_cycles(c, t, target) / _cycles(c, t, target))
    return of_two(parts, _data_bytes(c, t) * t.bands + results, memory)


def _from_memory(c: Convolution, t: Tiling, target: VectorTarget) -> float:
    """Cycles in which weights come from far away."""
    weights = _bytes(c, t.products)
    if weights * 2 <= target.streamed_bytes:
        return 0.0
    panel = weights * t.filters // c.filters[1]
    bands = max(1, t.bands)
    return stream_cycles(weights, bands if panel * 2 <= target.streamed_bytes else t.blocks * bands)


def _plain(c: Convolution, target: VectorTarget) -> float:
    """Cycles of the convolution as it is."""
    return plain_cycles(c.updates, prod(c.weights.shape) * FLOAT32_BYTES, target)
