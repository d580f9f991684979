"""Loops over the rows of a tensor: all axes but one, for computes that work along an axis."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from ..tir.stmt import SERIAL


@contextmanager
def rows(ib: Any, shape: Sequence[int], axis: int, kind: str = SERIAL) -> Iterator[Callable[[Any], tuple[Any, ...]]]:
    """`with rows(ib, shape, axis) as row:` loops over all axes but one; `row(i)` is the full index at `i` of that one.

    `kind`: of the outermost loop.
    """
    with ExitStack() as loops:
        extents = [extent for a, extent in enumerate(shape) if a != axis]
        kinds = [kind, *[SERIAL] * len(extents)]
        others = [loops.enter_context(ib.for_(extent, kind=k)) for extent, k in zip(extents, kinds)]
        yield lambda i: (*others[:axis], i, *others[axis:])
