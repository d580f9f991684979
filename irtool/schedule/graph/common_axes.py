"""Axes of two loop nests over the same elements, split until both nests have the same ones.

::

    for m, c: s[m, c] = …                      m = h * 8 + w
    for c, h, w: … s[h * 8 + w, c] …    ⇒      for h, w, c: …        for both

The offset of an element in memory is a number whose digits are the steps of the loops: for example digits of strides 1, 64, 512
with extents 64, 8, 4. Two systems of digits for the same numbers have a common refinement if their strides divide each other.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ...symbolic_int import ascending, bound, holds, none_if_undecided
from ...tir.expr import Binary, Const, Expr, Var, post_order, substitute
from ...tir.simplify import Simplifier
from ..core.affine import simplifier
from ..core.forms import Loop


@dataclass(frozen=True)
class Digit:
    """An axis as a digit of offsets, with a `stride` in elements."""

    stride: int
    extent: int
    var: Var

    def has_bound(self, place: int) -> bool:
        """True if a refined axis of that stride is a part of this one. An axis that can have one step counts as one of several."""
        end = self.stride * self.extent
        return holds(operator.le, self.stride, place) and holds(operator.le, place, end) and place != end


@dataclass(frozen=True)
class CommonAxes:
    """The refined axes.

    Attributes:
        loops: in the order of the first nest.
        first, second: the variables of each nest in terms of the refined ones.
        split: variables of the first nest that were split.
    """

    loops: tuple[Loop, ...]
    first: dict[Expr, Expr]
    second: dict[Expr, Expr]
    split: frozenset[Var]


@none_if_undecided
def find_common_axes(
    first: Sequence[Loop], place: Expr, second: Sequence[Loop], other: Expr, size: int
) -> CommonAxes | None:
    """The common axes of a nest that writes `size` elements at `place`, each once, and one that reads them at `other`, each once.

    None if the nests write or read otherwise, or have no such axes.
    """
    a, b = _digits(first, place, size), _digits(second, other, size)
    if a is None or b is None:
        return None
    bounds = ascending({d.stride for d in (*a[1], *b[1])} | {size})
    if any(m % n != 0 for n, m in pairwise(bounds)):
        return None
    digits: dict[int, Digit] = {}
    for d in a[1]:
        inside = [n for n in bounds if d.has_bound(n)]
        for n in inside:
            after = bounds[bounds.index(n) + 1]
            v = d.var if len(inside) == 1 else Var(f"{d.var.name}_{len(inside) - 1 - inside.index(n)}", d.var.dtype)
            digits[n] = Digit(n, after // n, v)
    parts = {d.var: [digits[n] for n in reversed(bounds) if d.has_bound(n)] for d in a[1]}
    loops: list[Loop] = []
    for v, _ in a[2]:
        loops += [(d.var, d.extent) for d in parts[v]]
    split = frozenset(v for v, ds in parts.items() if len(ds) > 1 or a[0].get(v, v) is not v)
    return CommonAxes(tuple(loops), _composed(a, digits, bounds), _composed(b, digits, bounds), split)


Digits = tuple[dict[Expr, Expr], list[Digit], list[Loop]]
"""The values of the original variables in those of the digits, the digits with the lowest first, and the digits as loops in the
original order."""


def _composed(a: Digits, digits: Mapping[int, Digit], bounds: Sequence[int]) -> dict[Expr, Expr]:
    values: dict[Expr, Expr] = {}
    for d in a[1]:
        terms = [digits[n].var * (n // d.stride) for n in reversed(bounds) if d.has_bound(n)]
        value: Expr = terms[0]
        for t in terms[1:]:
            value = value + t
        values[d.var] = value
    return {**values, **{v: substitute(e, values) for v, e in a[0].items()}}


def _digits(loops: Sequence[Loop], place: Expr, size: int) -> Digits | None:
    """The loops as digits of the offsets; axes that the offset divides are split first."""
    current = list(loops)
    values: dict[Expr, Expr] = {}
    while True:
        simplify = simplifier(current)
        terms, offset = simplify.linear(place)
        divided = next((t for t in terms if not isinstance(t, Var)), None)
        if divided is None:
            break
        division = _division(simplify, divided, dict(current))
        if division is None:
            return None
        v, c = division
        high, low = Var(f"{v.name}_h", v.dtype), Var(f"{v.name}_l", v.dtype)
        step: dict[Expr, Expr] = {v: high * c + low}
        values = {**{k: substitute(e, step) for k, e in values.items()}, **step}
        place = substitute(place, step)
        stride = next(n for n, (x, _) in enumerate(current) if x is v)
        current[stride : stride + 1] = [(high, current[stride][1] // c), (low, c)]
    digits = sorted((Digit(terms.get(v, 0), n, v) for v, n in current), key=lambda d: bound(d.stride))
    stride = 1
    for d in digits:
        if d.stride != stride or bound(d.extent) < 2:
            return None
        stride *= d.extent
    if offset or stride != size or len(terms) != len(digits):
        return None
    original = {v for v, _ in loops}
    return {v: e for v, e in values.items() if v in original}, digits, current


def _division(simplify: Simplifier, e: Expr, extents: Mapping[Var, int]) -> tuple[Var, int] | None:
    """A variable that an expression divides by a number that divides its extent, and the number."""
    for x in post_order(e):
        if isinstance(x, Binary) and x.op in ("floordiv", "floormod") and isinstance(x.b, Const):
            terms, _ = simplify.linear(x.a)
            c = x.b.int_value
            for v, k in terms.items():
                if isinstance(v, Var) and k == 1 and v in extents and 1 < c < extents[v] and extents[v] % c == 0:
                    return v, c
    return None


__all__ = ["CommonAxes", "Digit", "find_common_axes"]
