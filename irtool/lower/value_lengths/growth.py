"""Functions that call themselves at their end, and hand on tensors whose extents change from turn to turn.

::

    def @f(%i, %acc: Tensor[(?, 3)]) {
      if (less(%i, 9)) { @f(add(%i, 1), concatenate((%acc, …))) } else { %acc } }

A tensor whose extents change is handed on as a vector of as many elements as it has at most, and as its extents. In each turn these are
lengths, and the tensor is the beginning of the vector; what other parameters have for extents, they have in all turns. ⇒

    def @f_1(%i, %acc_kept: Tensor[(27)], %acc_shape: Tensor[(2), int64]) {
      %acc = reshape(length.cut(length.set(%acc_kept, %acc_shape, lengths=[count_0], places=[0]), shape=[3*count_0]), newshape=[count_0, 3]) … }

A length that grows by a number in each turn is bounded where the turns are; see `turns`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from ...diagnostics import IrError
from ...ir import Call, Expr, Function, GlobalVar, Module, TensorType, TupleType, Var, rewrite
from ...symbolic_int import Symbol, bound, symbol_of
from ..values import dims
from .fresh import Fresh, Unbounded
from .packing import as_vector, beginning, packed_result, result_forms, unpacked_result
from .parts import parts_of, whole_of
from .ranges import Range, RangeAnalysis
from .tails import Tails, ends_with_its_calls, tails_of, with_ends
from .turns import Turns

_PROVISIONAL = 1 << 12
"""The bound of a length, at least, before that of its growth is known."""

Axis = tuple[int, int]
"""The numbers of a parameter, and of one of its axes."""

Rewrite = Callable[[Expr, set[Expr]], Expr]
"""Rewrites a body with lengths, but for the types of some expressions at its end."""


@dataclass(frozen=True)
class Attempt:
    """A function rewritten for the types of some arguments.

    Attributes:
        params: the new ones: a tensor, or a vector and its extents, for each of the function.
        types: those of its parameters, with lengths.
        lengths: the lengths among these.
        own: all lengths that the body sets.
    """

    params: list[tuple[Var, ...]]
    types: list[TensorType]
    lengths: dict[Axis, int]
    own: set[Symbol]
    body: Expr
    tails: Tails

    def handed_on(self, axis: Axis) -> list[int]:
        """The extents that calls of the function itself have along the axis of a parameter."""
        n, k = axis
        return [d for t in self._types_of(n) if isinstance(d := t.shape[k], int)]

    def changed(self) -> set[Axis] | None:
        """The axes along which a call of itself has another extent than the parameter; None for types that are not known."""
        result: set[Axis] = set()
        for n, t in enumerate(self.types):
            for other in self._types_of(n):
                if not other.is_static or len(other.shape) != len(t.shape):
                    return None
                result |= {(n, k) for k, (a, b) in enumerate(zip(t.shape, other.shape, strict=True)) if a != b}
        return result - self.lengths.keys()

    def _types_of(self, n: int) -> list[TensorType]:
        types = [c.args[n].checked_type for c in self.tails.again]
        return [t for t in types if isinstance(t, TensorType)]


class Growth:
    """Makes functions for calls of functions that call themselves.

    Args:
        rewriting: gives the rewriting of a function's body for ranges of parameters that are known.

    Attributes:
        functions: the new ones by name.
    """

    def __init__(self, module: Module, fresh: Fresh, rewriting: Callable[[Mapping[Expr, Any]], Rewrite]) -> None:
        self.module = module
        self.fresh = fresh
        self.rewriting = rewriting
        self.functions: dict[str, Function] = {}

    def of(self, e: Call, ranges: RangeAnalysis) -> Expr | None:
        """The result of a call, with lengths; None for a call of another function. Raises Unbounded for a length without a bound."""
        if not isinstance(e.op, GlobalVar):
            return None
        f = self.module.functions.get(e.op.name)
        if not isinstance(f, Function) or not ends_with_its_calls(f, e.op.name):
            return None
        types = [a.checked_type for a in e.args]
        if not all(isinstance(t, TensorType) and t.is_static for t in types):
            return None
        return _Loop(self, e, f, ranges).build()

    def name(self, name: str) -> str:
        """A name for a copy of a function."""
        number = 1
        while f"{name}_{number}" in self.module.functions or f"{name}_{number}" in self.functions:
            number += 1
        return f"{name}_{number}"


class _Loop:
    """One call of a function."""

    def __init__(self, growth: Growth, e: Call, f: Function, ranges: RangeAnalysis) -> None:
        assert isinstance(e.op, GlobalVar)
        self.growth = growth
        self.fresh = growth.fresh
        self.e = e
        self.f = f
        self.name = e.op.name
        self.ranges = ranges
        self.turns = Turns(self.name, f, e.args, ranges)
        self.types = [t for a in e.args if isinstance(t := a.checked_type, TensorType)]

    def build(self) -> Expr | None:
        """The result of the call. Raises Unbounded."""
        attempt = self._settled()
        if attempt is None:
            return None
        results = attempt.tails.results
        leaves = [parts for r in results if (parts := parts_of(r)) is not None]
        forms = result_forms(leaves, attempt.own) if len(leaves) == len(results) else None
        if not forms:
            return None
        packed = dict(zip(results, (packed_result(x, forms) for x in leaves), strict=True))
        name = self.growth.name(self.name)

        def ended(e: Expr) -> Expr:
            if e in packed:
                return packed[e]
            assert isinstance(e, Call)
            return Call(GlobalVar(name), _handed(e.args, attempt.params), None, (), e.span)

        body = with_ends(attempt.body, attempt.tails, ended)
        result = TupleType(tuple(t for form in forms for t in form.types))
        self.growth.functions[name] = Function(tuple(v for row in attempt.params for v in row), body, result)
        called = Call(GlobalVar(name), _handed(self.e.args, attempt.params), None, (), self.e.span, result)
        return whole_of(results[0].checked_type, unpacked_result(called, forms, self.fresh, self.e))

    def _settled(self) -> Attempt | None:
        """The function rewritten, with lengths for all extents that change; None if it has no form with them."""
        changing: set[Axis] = set()
        for _ in range(sum(len(t.shape) for t in self.types) + 1):
            provisional = {a: max(_PROVISIONAL, 2 * bound(self._first(a))) for a in changing}
            state = self.fresh.state()
            try:
                attempt = self._tried(provisional)
                changed = attempt.changed()
            except (IrError, Unbounded):
                changed = self._open - changing  # what a turn hands on may be of other types
                if not changed:
                    raise
            self.fresh.restore(state)
            if changed is None:
                return None
            if not changed:
                return self._bounded(attempt) if changing else self._tried({})
            changing |= changed
        return None

    @property
    def _open(self) -> set[Axis]:
        """The axes that the function leaves open, of parameters that turns change."""
        rows = enumerate(self.f.params)
        types = {n: t for n, p in rows if n not in self.turns.same and isinstance(t := p.checked_type, TensorType)}
        return {(n, k) for n, t in types.items() for k, d in enumerate(t.shape) if not isinstance(d, int)}

    def _first(self, axis: Axis) -> int:
        """The extent in the first turn."""
        n, k = axis
        d = self.types[n].shape[k]
        assert isinstance(d, int)
        return d

    def _tried(self, bounds: Mapping[Axis, int | None]) -> Attempt:
        """The function rewritten, with lengths of these bounds. Raises Unbounded; IrError for types that do not fit."""
        params: list[tuple[Var, ...]] = []
        types: list[TensorType] = []
        lengths: dict[Axis, int] = {}
        instead: dict[Expr, Expr] = {}
        known: dict[Expr, Any] = {}
        before = set(self.fresh.symbols)
        for n, (p, t) in enumerate(zip(self.f.params, self.types, strict=True)):
            own = {k: self._length((n, k), bounds) for k in range(len(t.shape)) if (n, k) in bounds}
            lengths |= {(n, k): d for k, d in own.items()}
            types.append(TensorType(tuple(own.get(k, d) for k, d in enumerate(t.shape)), t.dtype))
            params.append(_variables(p.name, types[n], bool(own)))
            instead[p] = params[n][0] if not own else beginning(params[n][0], params[n][1], types[n], own)
            if n in self.turns.same and not own:
                known[params[n][0]] = self.ranges.of(self.e.args[n])
        problems = len(self.fresh.problems)
        body = rewrite(self.f.body, lambda old, new: new, instead.get)
        body = self.growth.rewriting(known)(body, tails_of(body, self.name).frame)
        if len(self.fresh.problems) > problems:
            raise Unbounded
        own_symbols = set(self.fresh.symbols) - before
        return Attempt(params, types, lengths, own_symbols, body, tails_of(body, self.name))

    def _length(self, axis: Axis, bounds: Mapping[Axis, int | None]) -> int:
        n, k = axis
        what = f"the extent of axis {k} of %{self.f.params[n].name} in the turns of @{self.name}"
        return self.fresh.length(Range(0, bounds[axis]), self.e, what)

    def _bounded(self, attempt: Attempt) -> Attempt:
        """The same with bounds of lengths: those of the first turn if they hold for all, else those that follow from how lengths grow.

        Raises Unbounded where none follows, and nobody states one.
        """
        wide = {a: self._bound(attempt, a) for a in attempt.lengths}
        bounds: dict[Axis, int | None] = {a: bound(self._first(a)) for a in attempt.lengths}
        while True:
            state = self.fresh.state()
            final = self._tried(bounds)
            larger = [a for a in final.lengths if not self._holds(final, a)]
            if not larger:
                return final
            self.fresh.restore(state)
            bounds |= {a: wide[a] if bounds[a] != wide[a] else None for a in larger}

    def _holds(self, attempt: Attempt, axis: Axis) -> bool:
        """True for a bound that somebody states, and for one that no turn exceeds."""
        length = attempt.lengths[axis]
        symbol = symbol_of(length)
        if symbol is not None and self.fresh.is_stated(symbol.name):
            return True
        most = self._bound(attempt, axis)
        return most is not None and most <= bound(length)

    def _bound(self, attempt: Attempt, axis: Axis) -> int | None:
        """The bound of a length, if all lengths have the bounds that they have in the attempt."""
        length, others, first = attempt.lengths[axis], attempt.handed_on(axis), bound(self._first(axis))
        most = max((bound(d) for d in others), default=0)
        if max(first, most) <= bound(length):
            return max(first, most)
        turns = self.turns.most()
        grows = max((bound(d - length) for d in others), default=0)
        return None if turns is None else first + turns * max(grows, 0)


def _variables(name: str, t: TensorType, changes: bool) -> tuple[Var, ...]:
    """The parameters for one: a tensor, or a vector and its extents."""
    if not changes:
        return (Var(name, t, None, t),)
    vector = TensorType((bound(prod(dims(t))),), t.dtype)
    extents = TensorType((len(t.shape),), "int64")
    return Var(f"{name}_kept", vector, None, vector), Var(f"{name}_shape", extents, None, extents)


def _size(vector: Var) -> int:
    t = vector.checked_type
    assert isinstance(t, TensorType)
    return dims(t)[0]


def _handed(args: Sequence[Expr], params: Sequence[tuple[Var, ...]]) -> tuple[Expr, ...]:
    """The arguments for these parameters."""
    result: list[Expr] = []
    for a, row in zip(args, params, strict=True):
        result += [a] if len(row) == 1 else as_vector(a, _size(row[0]))
    return tuple(result)
