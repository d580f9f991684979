"""The choice between Winograd's algorithm and others for a convolution, by estimated cycles, and its plan: one place for all
users.

Stages that make room for transformed tiles before layouts are chosen ask here, and so does the stage that transforms; both get
the same answer for the same stage.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import inf, prod

from ...symbolic_int import estimate
from ...tir.memory import LAST_CACHE
from ...tir.stmt import Buffer
from ...tir.vector_target import VectorTarget
from ..core.lane_steps import widest
from ..core.staged import ALONE, TwoThreads, choose_plan, of_two
from ..strategies.winograd.axes import SpatialAxis
from ..strategies.winograd.convolution import Convolution
from ..strategies.winograd.plans import SIZES, data_bytes, is_side_by_side, plans_of_size, weight_bytes
from ..strategies.winograd.tiling import Tiling
from .gemm_cost import gemm_cost, plain_cycles, stream_cycles
from .machine import (
    BORDER_COPY,
    FLOAT32_BYTES,
    GAIN,
    LAST_CACHE_RATE,
    SECOND_CACHE_RATE,
    TRANSFORM_SPILLS,
    WINOGRAD_GAIN_OF_MEMORY,
)


@dataclass(frozen=True)
class Transform:
    """The plan for a convolution that Winograd's algorithm computes faster, and the cycles that it saves."""

    tiling: Tiling
    saved: float


@lru_cache(maxsize=256)
@estimate
def better_transform(
    c: Convolution,
    target: VectorTarget,
    label: str = "",
    stack_limit: float = inf,
    *,
    layouts: bool = True,
    speedup: float = 1.0,
    most: int = max(SIZES),
) -> Transform | None:
    """The best plan by Winograd's algorithm; None if the convolution stays as it is, for speed or by the target's `winograd`.

    Args:
        label: the label of the plan to take at any cost, if there is such a plan.
        stack_limit: bytes of workspace that make no program larger.
        layouts: true if layouts are chosen already; otherwise channels count as contiguous if they fill vectors.
        most: the largest number of results of a tile along an axis.
        speedup: that of the plain convolution over one in float32, by instructions for narrower operands.
    """
    free = target.winograd == "auto"
    if target.winograd == "off" or (free and not label and c.updates < target.transformed_updates):
        return None
    lanes = widest(target, lambda n: is_side_by_side(c, n)) if layouts else _possible_lanes(c, target)
    if not lanes:
        return None
    tile_sizes = [size for size in (SIZES if free else (int(target.winograd),)) if size <= most]
    plain = direct_cycles(c, target) / speedup
    tiling = choose_plan(
        [t for size in tile_sizes for t in plans_of_size(c, size, lanes, target)],
        label,
        lambda t: winograd_cycles(c, t, target) / _margin(c, t),
        lambda t: _of_two_threads(c, t, target),
        plain if free else inf,
        lambda t: t.own or not t.bands or data_bytes(c, t) <= stack_limit,
    )
    return Transform(tiling, plain - winograd_cycles(c, tiling, target)) if tiling is not None else None


@estimate
def saved_cycles(c: Convolution, t: Tiling, target: VectorTarget) -> float:
    """The cycles that a plan saves; infinite if the target asks for the algorithm."""
    return direct_cycles(c, target) - winograd_cycles(c, t, target) if target.winograd == "auto" else inf


def _possible_lanes(c: Convolution, target: VectorTarget) -> int:
    """Channels that can be contiguous, as behind other convolutions; 0 if they fill no vectors."""
    lanes = target.lanes(FLOAT32_BYTES)
    return 0 if c.channel[1] % lanes or c.filters_of_group % lanes else lanes


def _margin(c: Convolution, t: Tiling) -> float:
    """Largest share of the time of the plain convolution that a plan may take."""
    return GAIN if weight_bytes(c, t.products) <= LAST_CACHE else WINOGRAD_GAIN_OF_MEMORY


@estimate
def winograd_cycles(c: Convolution, t: Tiling, target: VectorTarget) -> float:
    """Cycles of a transformed convolution: its transforms, its products, and its weights if they come from memory."""
    t = t.at_bounds()
    steps, filters = c.steps, c.filters[1]
    kinds = t.products
    taken = t.tiles * t.blocks * max(1, t.bands)
    back = t.across.products * t.down.inverse_sums.operations + t.sizes[0] * t.across.inverse_sums.operations
    results = _transform_cycles(t.count * filters * (kinds + prod(t.sizes) + back), t, target)
    cycles = gemm_cost(t.tiles, t.filters, steps, target)
    blocks = taken // t.tiles
    multiplied = cycles * kinds * blocks * (filters // t.filters)
    if t.bands:  # every block of filters reads the transformed data again
        rate = SECOND_CACHE_RATE if data_bytes(c, t) <= target.streamed_bytes else LAST_CACHE_RATE
        multiplied += taken * kinds * (c.inputs + steps * (filters // t.filters)) * FLOAT32_BYTES / rate
    return _data_cycles(c, t, target) + results + multiplied + _from_memory(c, t, target)


@estimate
def direct_cycles(c: Convolution, target: VectorTarget) -> float:
    """Cycles of the plain convolution."""
    return plain_cycles(c.updates, prod(c.weights.shape) * FLOAT32_BYTES, target)


def _data_cycles(c: Convolution, t: Tiling, target: VectorTarget) -> float:
    """Cycles to transform the data."""
    (height, inputs), width = t.window, t.across.products
    sizes = height * inputs + t.products + height * t.across.data_sums.operations
    inside = (1 - _border(c.rows, t.sizes[0], height)) * (1 - _border(c.columns, t.sizes[1], inputs))
    operations = sizes + width * t.down.data_sums.operations + (1 - inside) * BORDER_COPY * height * inputs
    return _transform_cycles(t.tiles * t.blocks * max(1, t.bands) * c.inputs * operations, t, target)


@lru_cache(maxsize=64)
def _border(axis: SpatialAxis, size: int, inputs: int) -> float:
    return axis.at_bounds().border(size, inputs)


def _transform_cycles(operations: float, t: Tiling, target: VectorTarget) -> float:
    """Cycles of a number of loads, stores and sums of single numbers."""
    return TRANSFORM_SPILLS / target.multiply_adds * operations / t.lanes


def _of_two_threads(c: Convolution, t: Tiling, target: VectorTarget) -> TwoThreads:
    """The cost of a plan with two threads."""
    t = t.at_bounds()
    if c.updates < target.parallel_updates:
        return ALONE
    memory = _from_memory(c, t, target)
    if t.shares_bands or not t.bands:
        return of_two(t.bands or t.blocks, 0, memory)
    parts = t.blocks * (c.filters[1] // t.filters)
    results = int(c.results) * FLOAT32_BYTES  # shares of rows would be read by the threads that wrote them
    if t.own:
        read = int(c.data.source.nbytes) if isinstance(c.data.source, Buffer) else 0
        return of_two(parts, read + results, memory, _data_cycles(c, t, target) / winograd_cycles(c, t, target))
    return of_two(parts, data_bytes(c, t) * t.bands + results, memory)


def _from_memory(c: Convolution, t: Tiling, target: VectorTarget) -> float:
    """Cycles in which weights come from beyond the L2 cache."""
    weights = weight_bytes(c, t.products)
    if weights * 2 <= target.streamed_bytes:
        return 0.0
    panel = weights * t.filters // c.filters[1]
    bands = max(1, t.bands)
    return stream_cycles(weights, bands if panel * 2 <= target.streamed_bytes else t.blocks * bands)
