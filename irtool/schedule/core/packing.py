"""Packed copies of operands: their contents, the loops that fill them, and their reads; see `primitives.pack`.

Along the vector axis the copy is contiguous, and wide enough for full vectors. Elements that windows or vectors read beyond the
operand have the value that leaves the accumulator unchanged. There is a row for every remainder of the operand's stride.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...diagnostics import UsageError
from ...symbolic_int import bound, holds
from ...tir.expr import Binary, Cast, Const, Expr, Load, Var, all_of, const, if_then_else
from ...tir.simplify import Simplifier
from ...tir.stmt import Buffer, Store
from .affine import depends, loads, simplifier
from .forms import Loop, Map, Reduction
from .guards import conditions_within


@dataclass(frozen=True)
class OperandAxis:
    """One axis of the operand. `fixed`: the part of its index that depends on outer loops; the rest, a sum of `terms`, is in 0 …
    `reach`. Only the elements `first` … `last` exist."""

    fixed: Expr
    terms: dict[Var, int]
    reach: int
    first: int
    last: int


@dataclass(frozen=True)
class Limits:
    """The elements of an operand that exist, `(first, last)` for each axis, as the guards of a reduction say.

    `other_guards`: the other guards. `neutral`: the value of an element that leaves the accumulator unchanged.
    """

    bounds: tuple[tuple[int, int], ...]
    other_guards: tuple[Expr, ...]
    neutral: Const


def find_limits(r: Reduction, operand: Load, simplify: Simplifier) -> Limits | None:
    """The limits of an operand; None if no value leaves the accumulator unchanged, or if guards on other things must not skip
    steps."""
    bounds = [(0, d - 1) for d in operand.source.shape]
    remaining: list[Expr] = []
    for g in r.guards:
        for n, i in enumerate(operand.indices):
            low, high = simplify(g - i), simplify(g + i)
            first, last = bounds[n]
            if isinstance(low, Const):
                bounds[n] = (max(first, -low.int_value), last)
                break
            if isinstance(high, Const):
                bounds[n] = (first, min(last, high.int_value))
                break
        else:
            remaining.append(g)
    neutral = _neutral(r, operand)
    if (len(remaining) < len(r.guards) and neutral is None) or (r.formed and remaining):
        return None
    return Limits(tuple(bounds), tuple(remaining), const(0, operand.dtype) if neutral is None else neutral)


@dataclass(frozen=True)
class Packing:
    """A copy of an operand. Axis number `moving` of its `axes` moves with the loop `along`, by `step`.

    `extent`: the steps of that loop. `lanes`: elements of a vector.
    """

    along: Var
    extent: int
    lanes: int
    axes: tuple[OperandAxis, ...]
    moving: int
    neutral: Const

    @staticmethod
    def of(
        indices: Sequence[Expr],
        limits: Limits,
        inside: Mapping[Var, int],
        along: Var,
        lanes: int,
        simplify: Simplifier,
    ) -> Packing:
        """A copy of the elements at `indices` in the steps of the loops `inside`. Raises UsageError if an index is no sum of
        their variables, or decreases with one."""
        axes = []
        moving = []
        for n, (i, (first, last)) in enumerate(zip(indices, limits.bounds)):
            linear, _ = simplify.linear(i)
            terms = {x: k for x, k in linear.items() if isinstance(x, Var) and x in inside}
            others = [x for x in linear if not isinstance(x, Var)]
            if min(terms.values(), default=0) < 0 or any(depends(o, x) for o in others for x in inside):
                raise UsageError(
                    "an index of the operand is no sum of the loops inside", help="compute_at a loop further inside"
                )
            if along in terms:
                moving.append(n)
            rest = i
            for x, k in terms.items():
                rest = rest - x * k
            reach = sum(k * (inside[x] - 1) for x, k in terms.items())
            axes.append(OperandAxis(simplify(rest), terms, reach, first, last))
        if len(moving) != 1:
            raise UsageError(f"not one axis of the operand moves with {along.name}, but {len(moving)}")
        return Packing(along, inside[along], lanes, tuple(axes), moving[0], limits.neutral)

    @property
    def step(self) -> int:
        """The stride of the operand's index along the vector loop."""
        return self.axes[self.moving].terms[self.along]

    @property
    def columns(self) -> int:
        """Elements of a row of the copy: full vectors, and the elements that windows reach beyond them."""
        beyond = self.axes[self.moving].reach - self.step * (self.extent - 1)
        width = self.lanes
        while width > 4 and 2 * bound(self.extent) <= width:
            width //= 2
        return -(-self.extent // width) * width + beyond // self.step

    @property
    def shift(self) -> int:
        """Columns before the first element, so that the first element that exists in the operand is at the beginning of a
        vector."""
        a = self.axes[self.moving]
        if self.step > 1 or not isinstance(a.fixed, Const):
            return 0
        first = a.first - a.fixed.int_value
        return -first % self.lanes if holds(operator.gt, first, 0) else 0

    @property
    def shape(self) -> list[int]:
        """The shape of the copy. Rows begin at multiples of a vector."""
        heights = [a.reach + 1 for n, a in enumerate(self.axes) if n != self.moving and a.terms]
        columns = self.shift + self.columns
        return [*heights, *([self.step] if self.step > 1 else []), -(-columns // self.lanes) * self.lanes]

    def fill(self, operand: Load, buffer: Buffer, around: Sequence[Loop], phase: int) -> Map:
        """The copy of the elements with one remainder of the stride."""
        loops: list[Loop] = []
        source: list[Expr] = []
        indices: list[Expr] = []
        conditions: list[Expr] = []
        column = Var("col")
        ranges = simplifier(around, ((column, self.columns),))
        for n, a in enumerate(self.axes):
            index = a.fixed
            if n == self.moving:
                index = index + (column * self.step + phase)
            elif a.terms:
                row = Var(f"row{n}")
                ranges.bind(row, 0, a.reach)
                loops.append((row, a.reach + 1))
                indices.append(row)
                index = index + row
            source.append(ranges(index))
            conditions += conditions_within(ranges, source[-1], a.first, a.last)
        if self.step > 1:
            indices.append(const(phase))
        value: Expr = Load(operand.source, tuple(source))
        if conditions:
            value = if_then_else(all_of(conditions), value, self.neutral)
        return Map((*loops, (column, self.columns)), (Store(buffer, (*indices, column + self.shift), value),))

    def place(self, simplify: Simplifier) -> tuple[Expr, ...]:
        """The indices of an element in the copy."""
        indices: list[Expr] = [_sum(a.terms) for n, a in enumerate(self.axes) if n != self.moving and a.terms]
        beyond = _sum({x: k for x, k in self.axes[self.moving].terms.items() if x is not self.along})
        if self.step > 1:
            indices.append(beyond % self.step)
        indices.append(self.along + beyond // self.step + self.shift)
        return tuple(simplify(i) for i in indices)


def _sum(terms: dict[Var, int]) -> Expr:
    total: Expr = const(0)
    for x, k in terms.items():
        total = total + x * k
    return total


def _neutral(r: Reduction, e: Load) -> Const | None:
    """The value of a read that leaves the accumulator unchanged; None if no value does."""
    if not isinstance(r.update, Binary):
        return None
    if r.update.op in ("max", "min", "maximum", "minimum"):
        return const(r.init.value, e.dtype) if r.update.b is e and isinstance(r.init, Const) else None
    if r.update.op != "+":
        return None
    value: Expr = r.update.b
    while value is not e:
        if isinstance(value, Cast):
            value = value.value
        elif isinstance(value, Binary) and value.op == "*":
            value = value.b if _reads(value.b, e) else value.a
        else:
            return None
    return const(0, e.dtype)


def _reads(value: Expr, e: Load) -> bool:
    return any(x is e for x in loads(value))
