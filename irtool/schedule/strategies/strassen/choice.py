"""The choice between a product by Strassen's algorithm and a plain one, with block sizes, by estimates of cycles.

Halves of halves would save another eighth, but for products of networks' sizes the sums of data and results then take as much
time as that saves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from math import inf

from ....diagnostics import UsageError
from ....symbolic_int import bound, estimate, interval, is_known
from ....tir.memory import KERNEL_SCRATCH
from ....tir.vector_target import VectorTarget
from ...core.lane_steps import are_side_by_side, widest
from ...core.matrix_sums import sums
from ...core.staged import ALONE, StagedPlan, TwoThreads, choose_plan, of_two
from ...cost.gemm_cost import gemm_cost, plain_cycles, stream_cycles
from ...cost.machine import (
    FLOAT32_BYTES,
    MANY_TILES,
    SECOND_CACHE_RATE,
    STRASSEN_GAIN,
    TRANSFORM_SPILLS,
    TRANSFORM_SPILLS_OF_16,
    WIDEST_TILE,
)
from .algorithm import DATA, PRODUCTS, RESULT
from .product import Product
from .tiling import Tiling


@estimate
def choose_tiling(p: Product, target: VectorTarget, label: str = "", stack_limit: float = inf) -> Tiling | None:
    """The plan of a product of halves; None if the product stays as it is, for its speed or by the target's `strassen`.

    `label`: the label of the plan to take at any cost, if there is such a plan. `stack_limit`: bytes of workspace that make no
    program larger. Of a number of rows that only the run knows, the plan is faster with the fewest rows and with the most.
    """
    if target.strassen == "off":
        return None
    lanes = widest(target, lambda n: is_side_by_side(p, n))
    if not lanes:
        return None
    counts = [p.count] if is_known(p.count) else _counts(p)
    limits = [_limit(p.with_rows(n), target, label) for n in counts]

    def cycles(t: Tiling) -> float:
        # On average, half of the last block is missing.
        costs = [_cycles(p.with_rows(n), t.of_rows(n + t.rows) if t.is_open else t, target) for n in counts]
        return sum(costs) if all(cost <= limit for cost, limit in zip(costs, limits)) else inf

    def shared(t: Tiling) -> TwoThreads:
        most = p.with_rows(counts[-1])
        t = t.of_rows(counts[-1])
        if most.updates < target.parallel_updates:
            return ALONE
        memory = _from_memory(p, target)
        if not t.bands:
            return of_two(t.blocks, 0, memory)
        return of_two(t.blocks * (p.filters[1] // 2 // t.columns), _data_bytes(p, t.count // 2), memory)

    if min(limits) <= 0:
        return None
    return choose_plan(
        list(_tilings(p, lanes, target)),
        label,
        cycles,
        shared,
        sum(limits),
        lambda t: not t.bands or _data_bytes(p, t.blocks * t.rows) <= stack_limit,
    )


@estimate
def saved_cycles(p: Product, t: Tiling, target: VectorTarget) -> float:
    """The cycles that a plan saves with the most rows; infinite if the target asks for the algorithm."""
    if target.strassen != "auto":
        return inf
    most = p.with_rows(bound(p.count))
    return _plain(most, target) - _cycles(most, t.of_rows(most.count), target)


def _counts(p: Product) -> list[int]:
    """Numbers of rows of which only the run knows one: the fewest, some between, and the most."""
    low, high = map(int, interval(p.count))
    return sorted({low + (high - low) * n // 4 for n in range(5)})


def _limit(p: Product, target: VectorTarget, label: str) -> float:
    """The cycles within which a plan is faster than the plain product; 0 if none is."""
    if target.strassen != "auto":
        return inf
    return STRASSEN_GAIN * _plain(p, target) if label or p.updates >= target.transformed_updates else 0.0


@estimate
def priced(t: Tiling, p: Product, target: VectorTarget) -> StagedPlan:
    """A plan with its cost and its reason."""
    most = p.with_rows(bound(p.count))
    cycles = _cycles(most, t.of_rows(most.count), target)
    share = f"{cycles / _plain(most, target):.2f} of the estimated cycles without"
    reason = f"seven products of halves, {t.rows} of {-(-p.count // 2)} pairs of rows and {t.columns} columns at a time"
    return StagedPlan(cycles / most.updates, f"{reason}, {share}", t.label, t.arguments, target)


@estimate
def fitting(t: Tiling, p: Product, target: VectorTarget) -> list[Tiling]:
    """Plans for a processor that use the same weights as another plan, best first: blocks of as many columns."""
    lanes = min(t.lanes, target.lanes(FLOAT32_BYTES))
    plans = list(_tilings(p, lanes, target, t.columns)) or [replace(t, lanes=lanes)]
    most = p.with_rows(bound(p.count))
    return sorted(plans, key=lambda x: _cycles(most, x.of_rows(most.count), target))


def tiling_by_hand(p: Product, rows: int, columns: int, lanes: int, bands: int = 0, blocks: int = 0) -> Tiling:
    """The plan of a schedule by hand. Raises UsageError if the product cannot have it."""
    if not is_side_by_side(p, lanes):
        raise UsageError(f"halves of operands and results are no contiguous vectors of {lanes} elements")
    half = p.filters[1] // 2
    if columns < lanes or columns % lanes or half % columns:
        raise UsageError(f"{columns} columns at a time are no whole vectors of {lanes}, or do not divide {half}")
    pairs = -(-p.count // 2)
    if not 0 < rows <= bound(pairs):
        raise UsageError(f"there are {pairs} pairs of rows, and a block cannot have {rows}")
    whole = -(-p.count // (2 * rows))
    if not 0 <= bands <= bound(whole) or not 0 <= blocks <= bound(whole) or (bands and blocks):
        kind = f"bands of {blocks} blocks" if blocks else f"{bands} bands"
        raise UsageError(f"{whole} blocks of {rows} pairs of rows cannot form {kind}")
    if bands and not is_known(p.count):
        raise UsageError(f"only the run knows the number of bands of {whole} blocks", help="blocks=4")
    bands = bands or (-(-whole // blocks) if blocks else 0)
    t = Tiling(rows, blocks or -(-whole // max(1, bands)), bands, columns, lanes)
    nbytes = _result_bytes(t) + (0 if bands else _data_bytes(p, rows))
    if nbytes > KERNEL_SCRATCH:
        raise UsageError(f"{rows} pairs of rows would take {nbytes} bytes of the stack", help="fewer rows, or bands=1")
    return t


def is_side_by_side(p: Product, lanes: int) -> bool:
    """True if vectors of `lanes`, a power of two, are contiguous in each half of all operands and results."""
    if lanes <= 0 or p.channel[1] % (2 * lanes) or p.filters[1] % (2 * lanes):
        return False
    return are_side_by_side(p.form, [(p.data, p.channel)], p.filters, lanes)


def _tilings(p: Product, lanes: int, target: VectorTarget, filter_count: int = 0) -> Iterator[Tiling]:
    """Plans; for blocks of `filter_count` columns, if given. The sums of a block are on the stack if weights are few enough to be
    read again for every block."""
    if not is_known(p.count):
        yield from _open_tilings(p, lanes, target, filter_count)
        return
    half = p.filters[1] // 2
    pairs = -(-p.count // 2)
    most = min(target.tiles_bytes, KERNEL_SCRATCH)
    limit = max(most, bound(p.data.source.nbytes + p.count * p.filters[1] * FLOAT32_BYTES))
    for columns in [filter_count] if filter_count else [n * lanes for n in (1, 2, 3, 4)]:
        if half % columns:
            continue
        for rows in _row_counts(pairs):
            blocks = -(-p.count // (2 * rows))
            t = Tiling(rows, blocks, 0, columns, lanes)
            if _result_bytes(t) > most:
                break
            if _result_bytes(t) + _data_bytes(p, rows) <= min(target.l2_cache_bytes // 2, KERNEL_SCRATCH):
                yield t
            bands = min(blocks, -(-(blocks * _data_bytes(p, rows) * 2) // target.streamed_bytes))
            t = replace(t, blocks=-(-blocks // bands), bands=bands)
            if _data_bytes(p, t.blocks * t.rows) <= limit:  # no more workspace than operands and results
                yield t


def _open_tilings(p: Product, lanes: int, target: VectorTarget, filter_count: int = 0) -> Iterator[Tiling]:
    """Plans for a number of rows that only the run knows: with blocks, and bands, of a constant size."""
    half, most = p.filters[1] // 2, bound(p.count)
    for columns in [filter_count] if filter_count else [n * lanes for n in (1, 2, 3, 4)]:
        for rows in (*range(4, 2 * WIDEST_TILE + 1), *MANY_TILES):
            if 2 * rows > most:
                break
            blocks = -(-p.count // (2 * rows))
            t = Tiling(rows, blocks, 0, columns, lanes)
            if half % columns or _result_bytes(t) > min(target.tiles_bytes, KERNEL_SCRATCH):
                continue
            if _result_bytes(t) + _data_bytes(p, rows) <= min(target.l2_cache_bytes // 2, KERNEL_SCRATCH):
                yield t
            each = min(max(1, target.streamed_bytes // (2 * _data_bytes(p, rows))), bound(blocks))
            yield replace(t, blocks=each, bands=-(-blocks // each))


def _row_counts(pairs: int) -> Iterator[int]:
    """Pairs of rows of a block that leave few over: all pairs in 1, 2, 3 … blocks of the same size."""
    last = 0
    for blocks in range(-(-pairs // min(4, pairs)), 0, -1):
        rows = -(-pairs // blocks)
        if rows != last:
            yield rows
        last = rows


def _bytes(p: Product) -> int:
    """Bytes of the sums of weights."""
    return p.weights.nbytes // 4 * PRODUCTS


def _data_bytes(p: Product, rows: int) -> int:
    """Bytes of the sums of `rows` pairs of rows."""
    return rows * PRODUCTS * p.channel[1] // 2 * p.windows * FLOAT32_BYTES


def _result_bytes(t: Tiling) -> int:
    """Bytes of the products that are computed at once."""
    return t.rows * PRODUCTS * t.columns * FLOAT32_BYTES


def _cycles(p: Product, t: Tiling, target: VectorTarget) -> float:
    """Cycles of a product of halves: its sums, its products, and its weights if they come from memory."""
    steps, half = p.channel[1] // 2 * p.windows, p.filters[1] // 2
    pairs = t.count // 2
    data, results = _operations()
    spills = TRANSFORM_SPILLS if target.registers > 16 else TRANSFORM_SPILLS_OF_16
    moved = spills / target.multiply_adds * pairs * (steps * data + half * results) / t.lanes
    blocks = pairs // t.rows
    multiplied = PRODUCTS * gemm_cost(t.rows, t.columns, steps, target) * blocks * (half // t.columns)
    if p.data.source.nbytes > target.streamed_bytes:  # no products are computed while the data arrive
        moved += stream_cycles(p.data.source.nbytes)
    passed = t.blocks if t.bands else 1
    if passed * _data_bytes(p, t.rows) > target.scratch_bytes:  # every block of columns reads the sums again
        multiplied += pairs * PRODUCTS * steps * FLOAT32_BYTES * (1 + half // t.columns) / SECOND_CACHE_RATE
    if _bytes(p) * 2 > target.streamed_bytes:
        panel = PRODUCTS * steps * t.columns * FLOAT32_BYTES
        passes = t.bands if t.bands and panel * 2 <= target.streamed_bytes else blocks
        multiplied += _bytes(p) * (passes - 1) / SECOND_CACHE_RATE  # an operand that was read once is in some cache
    return moved + multiplied + _from_memory(p, target)


@cache
def _operations() -> tuple[int, int]:
    """Instructions for the sums of data, and for those of results."""
    data = 2 * len(DATA[0]) + sums(DATA).operations + PRODUCTS  # operands, for the sizes of rows as well
    return data, PRODUCTS + sums(RESULT).operations + len(RESULT)


def _from_memory(p: Product, target: VectorTarget) -> float:
    """Cycles in which weights come from memory."""
    return stream_cycles(_bytes(p)) if _bytes(p) * 2 > target.streamed_bytes else 0.0


def _plain(p: Product, target: VectorTarget) -> float:
    """Cycles of the plain product."""
    return plain_cycles(p.updates, p.weights.nbytes, target)
