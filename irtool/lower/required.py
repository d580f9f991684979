"""Elements that operators need of axes whose extents a run decides: the conditions under which a run ends with an error.

::

    take(%rows, 0, axis=0)   ⇒   if count_0 < 1 { fail 15 }; the kernel        where %rows is [count_0, 4]
"""

from __future__ import annotations

from collections.abc import Iterator

from ..ir import Function
from ..ops.elements import RequiredElements
from ..ops.known import undecided_elements
from ..symbolic_int import interval
from ..tir.conditions import IsShort
from .compose import operator_calls


def conditions_of(function: Function) -> Iterator[IsShort]:
    """The conditions under which the operators of a primitive function lack elements of their arguments, in order of evaluation."""
    for e in operator_calls(function):
        yield from map(_condition, undecided_elements(e.attrs, [a.checked_type for a in e.args]))


def _condition(required: RequiredElements) -> IsShort:
    """The condition of missing elements, of the extents that decide it."""
    extents = [d for d in required.extents if isinstance(d, int) and interval(d)[0] < required.least]
    results = [d for d in required.results if isinstance(d, int) and interval(d)[0] < 1]
    return IsShort(tuple(extents), tuple(results), required.least)
