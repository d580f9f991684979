"""Running sums of floats whose rounding errors do not grow with their length: one rule for numpy and for compiled code.

    total = -0                           base = part = -0
    for k in 100000:                ⇒    for k in 100000:
        total += x[k]                        part += x[k]
        out[k] = total                       out[k] = base + part
                                             if k % 512 == 511: base += part; part = -0

An element of the result is the sum of the blocks before it, plus that of the elements of its own block up to it. Each level of blocks
divides the number of additions one behind the other by the length of a block (Higham, The Accuracy of Floating Point Summation,
1993); with many blocks, their sums are added up in blocks again. All additions are the same in numpy and in
compiled code, so the results are equal bit for bit.

A running sum begins with -0, which changes no number, as numpy's does: that of zeros with a minus sign has one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import te
from ..deferred import np
from ..symbolic_int import is_open
from .dtypes import is_float
from .long_sums import LONGEST

BLOCK = 512
"""Elements of a block."""


def levels(extent: Any, dtype: str) -> int:
    """Number of partial sums: 1 plus the levels of blocks, for an axis of that extent.

    An extent that is not known before the run takes blocks of blocks, which are short enough for 2^30 elements.
    """
    if not is_float(dtype):
        return 1
    if not isinstance(extent, int) or is_open(extent):
        return 3
    count = 1
    while extent > LONGEST:
        extent = -(-extent // BLOCK)
        count += 1
    return count


def running_sum(x: np.ndarray, exclusive: bool = False) -> np.ndarray:
    """The sums of all elements up to each one, or of those before it, along the last axis of `x`, in its dtype."""
    return _sums(x, exclusive, levels(x.shape[-1], x.dtype.name))


def _sums(x: np.ndarray, exclusive: bool, depth: int) -> np.ndarray:
    extent = x.shape[-1]
    if depth == 1:
        return _shifted(np.cumsum(x, axis=-1, dtype=x.dtype), exclusive)
    count = -(-extent // BLOCK)
    blocks = np.zeros((*x.shape[:-1], count * BLOCK), x.dtype)
    blocks[..., :extent] = x
    parts = np.cumsum(blocks.reshape(*x.shape[:-1], count, BLOCK), axis=-1, dtype=x.dtype)
    bases = _sums(parts[..., -1], True, depth - 1)
    whole = bases[..., None] + _shifted(parts, exclusive)
    return np.ascontiguousarray(whole.reshape(blocks.shape)[..., :extent])


def _shifted(sums: np.ndarray, exclusive: bool) -> np.ndarray:
    """The sums, or each one's predecessor, and -0 before the first."""
    if not exclusive:
        return sums
    before = np.full_like(sums, -0.0 if sums.dtype.kind == "f" else 0)
    before[..., 1:] = sums[..., :-1]
    return before


Lane = tuple[Callable[[Any], Any], Callable[[Any, Any], None]]
"""A row of a scan: `element(i)` gives an operand, and `store(i, value)` takes a result."""


def add_up(ib: Any, extent: Any, dtype: str, lanes: Sequence[Lane], exclusive: bool) -> None:
    """Writes the loop of the running sums of some rows, side by side."""
    start = te.const(-0.0 if is_float(dtype) else 0, dtype)
    names = ("part", "base", "bases", "all")[: levels(extent, dtype)]
    rows = [[ib.local(dtype, start, name) for name in names] for _ in lanes]
    with ib.for_(extent) as i:
        for sums, (element, store) in zip(rows, lanes, strict=True):
            before = ib.let(_total(sums)) if exclusive else None
            sums[0].set(sums[0].get() + element(i))
            store(i, before if exclusive else _total(sums))
        _carry(ib, i, rows, start)


def _total(sums: Sequence[Any]) -> Any:
    """The sums of all levels, those of the largest blocks first."""
    total = sums[-1].get()
    for s in reversed(sums[:-1]):
        total = total + s.get()
    return total


def _carry(ib: Any, i: Any, rows: Sequence[Sequence[Any]], start: Any) -> None:
    """Adds the sums of blocks that end with element `i` to those of the blocks before them, level by level."""
    length = 1
    for level in range(len(rows[0]) - 1):
        length *= BLOCK
        with ib.if_(te.floormod(i + 1, length).equal(0)):
            for sums in rows:
                sums[level + 1].set(sums[level + 1].get() + sums[level].get())
                sums[level].set(start)
