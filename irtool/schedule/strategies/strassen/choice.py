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
from ....symbolic_int import Undecided, bound, is_known
from ....tir.memory import KERNEL_SCRATCH
from ....tir.vector_target import VectorTarget
from ...core.lane_steps import are_side_by_side, widest
from ...core.matrix_sums import sums
from ...core.staged import ALONE, StagedPlan, TwoThreads, choose_plan, of_two
from ...cost.gemm_cost import gemm_cost, plain_cycles, stream_cycles
from ...cost.machine import FLOAT32_BYTES, SECOND_CACHE_RATE, STRASSEN_GAIN, TRANSFORM_SPILLS, TRANSFORM_SPILLS_OF_16
from .algorithm import DATA, PRODUCTS, RESULT
from .product import Product
from .tiling import Tiling


def choose_tiling(p: Product, target: VectorTarget, label: str = "", stack_limit: float = inf) -> Tiling | None:
    """The plan of a product of halves; None if the product stays as it is, for its speed or by the target's `strassen`.

    `label`: the label of the plan to take at any cost, if there is such a plan. `stack_limit`: bytes of workspace that make no
    program larger. Raises Undecided if only the run knows the rows.
    """
    free = target.strassen == "auto"
    if target.strassen == "off" or (free and not label and p.updates < target.transformed_updates):
        return None
    lanes = widest(target, lambda n: is_side_by_side(p, n))
    if not lanes:
        return None
    limit = STRASSEN_GAIN * _plain(p, target) if free else inf

    def shared(t: Tiling) -> TwoThreads:
        if p.updates < target.parallel_updates:
            return ALONE
        memory = _from_memory(p, target)
        if not t.bands:
            return of_two(t.blocks, 0, memory)
        return of_two(t.blocks * (p.filters[1] // 2 // t.columns), _data_bytes(p, t.count // 2), memory)

    if not is_known(p.count):
        raise Undecided(f"the number of pairs among {p.count} rows")
    plans = list(_tilings(p, lanes, target))
    return choose_plan(
        plans,
        label,
        lambda t: _cycles(p, t, target),
        shared,
        limit,
        lambda t: not t.bands or _data_bytes(p, t.blocks * t.rows) <= stack_limit,
    )


def priced(t: Tiling, p: Product, target: VectorTarget) -> StagedPlan:
    """A plan with its cost and its reason."""
    cycles = _cycles(p, t, target)
    share = f"{cycles / _plain(p, target):.2f} of the estimated cycles without"
    reason = f"seven products of halves, {t.rows} of {-(-p.count // 2)} pairs of rows and {t.columns} columns at a time"
    return StagedPlan(cycles / p.updates, f"{reason}, {share}", t.label, t.arguments, target)


def fitting(t: Tiling, p: Product, target: VectorTarget) -> list[Tiling]:
    """Plans for a processor that use the same weights as another plan, best first: blocks of as many columns."""
    lanes = min(t.lanes, target.lanes(FLOAT32_BYTES))
    plans = list(_tilings(p, lanes, target, t.columns)) or [replace(t, lanes=lanes)]
    return sorted(plans, key=lambda x: _cycles(p, x, target))


def tiling_by_hand(p: Product, rows: int, columns: int, lanes: int, bands: int = 0) -> Tiling:
    """The plan of a schedule by hand. Raises UsageError if the product cannot have it."""
    if not is_side_by_side(p, lanes):
        raise UsageError(f"halves of operands and results are no contiguous vectors of {lanes} elements")
    half = p.filters[1] // 2
    if columns < lanes or columns % lanes or half % columns:
        raise UsageError(f"{columns} columns at a time are no whole vectors of {lanes}, or do not divide {half}")
    pairs = -(-p.count // 2)
    if not 0 < rows <= pairs:
        raise UsageError(f"there are {pairs} pairs of rows, and a block cannot have {rows}")
    blocks = -(-p.count // (2 * rows))
    if not 0 <= bands <= blocks:
        raise UsageError(f"{blocks} blocks of {rows} pairs of rows cannot form {bands} bands")
    t = Tiling(rows, -(-blocks // max(1, bands)), bands, columns, lanes)
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
