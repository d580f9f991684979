"""Lengths that a network needs to be equal, or to be multiples of a number: the module in which they are.

    add(%x, %y) of Tensor[(a, 4), float32] and Tensor[(b, 4), float32]                  b becomes a
    concatenate((%x, nn.upsampling(nn.max_pool1d(%x)))) of Tensor[(1, 8, n), float32]   n becomes a multiple of 2

A module with the first holds for no lengths but equal ones. Inference refuses it; the pairs of extents that were compared last say
which equation of lengths would satisfy the rule. Equations are solved one by one, and each is kept only if the rule then holds. The
attribute `input_shapes` keeps the shapes that callers know: a run compares them with those of the types.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from ..diagnostics import Diagnostic, IrError
from ..ir import Function, Module, TensorType
from ..ir.expr import with_function
from ..ir.tensor_names import INPUT_SHAPES
from ..ir.types import tuple_leaves
from ..symbolic_int import (
    Quotient,
    Symbol,
    SymbolicInt,
    choice_of,
    extent_of,
    interval,
    symbol_of,
    symbols_of,
    uncertain_equalities_kept,
    value_at,
)
from .infer import infer_known_types
from .lengths import symbols_of_module, symbols_of_params, with_extents

_MOST_EQUATIONS: Final = 64
"""Equations of one module; one with more has an error that none of them mends."""

_MOST_PAIRS: Final = 4
"""Comparisons before an error that are looked at."""

S = TypeVar("S")
Solution = dict[Symbol, int]
"""An extent for each length that an equation decides: a formula of others, or of the same one with other bounds."""


Say = Callable[[Diagnostic], None]


def with_equal_lengths(module: Module, entry: str, say: Say | None = None) -> Module:
    """The module with the equations of lengths that it needs; itself if it needs none, or if none helps.

    `say` is called with a note for each equation.
    """
    function = module.functions.get(entry)
    if not isinstance(function, Function) or not symbols_of_params(function):
        return module
    declared = [[tuple(t.shape) for t in _tensors(p)] for p in function.params]
    order = symbols_of(d for row in declared for shape in row for d in shape if isinstance(d, int))
    settled = settle(module, _with, errors_of, order, say)
    if settled is None:
        return module
    changed, narrower = settled
    shapes = [[[replaced(d, narrower) for d in shape] for shape in row] for row in declared]
    result = changed[entry]
    return changed.with_function(entry, with_function(result, attrs={**result.attrs, INPUT_SHAPES: shapes}))


def settle(
    state: S,
    change: Callable[[S, Solution], S],
    errors_in: Callable[[S], Sequence[Diagnostic]],
    order: Sequence[Symbol],
    say: Say | None,
) -> tuple[S, Solution] | None:
    """Solves equations until no error is left: the last state, and the lengths with narrower bounds.

    None without an equation, or where an error stays.

    Args:
        change: the state with a solution.
        errors_in: its errors, with the pairs of extents that were compared before each.
        order: the lengths; later ones become formulas of earlier ones.
    """
    narrower: Solution = {}
    notes: list[Diagnostic] = []
    for _ in range(_MOST_EQUATIONS):
        errors = errors_in(state)
        if not errors:
            break
        solved = _solved(state, errors[0], order, change, errors_in)
        if solved is None:
            return None
        solution, state = solved
        bounds = {s: x for s, x in solution.items() if _is_same_length(s, x)}
        narrower = {**{s: replaced(x, bounds) for s, x in narrower.items()}, **bounds}
        order = [symbols_of([bounds[s]])[0] if s in bounds else s for s in order]
        notes += [_note(s, x, errors[0]) for s, x in solution.items()]
    else:
        return None
    if not notes:
        return None
    for n in notes if say is not None else ():
        say(n)  # type: ignore[misc]  # the loop is empty without it
    return state, narrower


def errors_of(module: Module) -> Sequence[Diagnostic]:
    """The errors of inference, with the comparisons of extents before each."""
    with uncertain_equalities_kept():
        try:
            infer_known_types(module)
        except IrError as error:
            return error.diagnostics
    return ()


def replaced(d: Any, extents: Mapping[Symbol, int]) -> Any:
    """The extent in which lengths are these extents; others stay."""
    if not isinstance(d, SymbolicInt) or not extents:
        return d
    return value_at(d, {s: extents.get(s, extent_of(s)) for s in d.symbols()})


def candidates(error: Diagnostic, order: Sequence[Symbol]) -> Iterator[Solution]:
    """Solutions of the equations before the error. A broadcast compares lengths with 1 too: these equations are last."""
    pairs = error.lengths[:_MOST_PAIRS]
    for a, b in sorted(pairs, key=lambda p: p[1] == 1 or p[0] == 1):
        yield from solutions(a, b, order)


def solutions(a: int, b: int, order: Sequence[Symbol]) -> Iterator[Solution]:
    """Ways to make two extents equal: a later length becomes a formula of earlier ones, or a length a multiple."""
    difference = a - b
    if not isinstance(difference, SymbolicInt):
        return
    place = {s: n for n, s in enumerate(order)}
    linear = sorted(_linear(difference), key=lambda item: place.get(item[0], -1), reverse=True)
    for s, k, rest in linear:
        steps = -(rest // k) if rest % k == 0 else None
        if steps is not None and (solution := _within(s, steps)) is not None:
            yield solution
    for s, factor in _factors(difference, linear):
        if (narrower := _stepped(s, factor)) is not None:
            yield {s: extent_of(narrower)}


def factors(a: int, b: int) -> Iterator[tuple[Symbol, int]]:
    """Lengths, and numbers that they have to be multiples of for two extents to be equal."""
    difference = a - b
    if isinstance(difference, SymbolicInt):
        yield from _factors(difference, _linear(difference))


def _linear(difference: SymbolicInt) -> list[tuple[Symbol, int, int]]:
    """The lengths that are terms of a formula, each with its factor and the rest, in which it is not."""
    linear = []
    for m, k in difference.terms.items():
        if len(m) == 1 and isinstance(s := m[0], Symbol):
            rest = difference - k * SymbolicInt({m: 1})
            if s not in symbols_of([rest]):
                linear.append((s, k, rest))
    return linear


def _within(s: Symbol, steps: int) -> Solution | None:
    """The length as that many steps of it, with the bounds of both; None if no length is within them."""
    extent = steps * s.step
    if not isinstance(extent, SymbolicInt):
        return {s: extent} if extent in s else None
    low, high = interval(extent)
    if low > s.high or high < s.low:
        return None
    (m, k), *others = extent.terms.items()
    if others or len(m) != 1 or not isinstance(t := m[0], Symbol) or k < 1:
        return {s: extent}
    # s is k times the steps of t.
    least, most = -(-s.low // k) * t.step, s.high // k * t.step
    narrower = t.within(least, most)
    if narrower is not None and s.choices:
        common = [x for x in narrower.lengths(narrower.low).tolist() if k * (x // t.step) in s]
        narrower = choice_of(t.name, common) if common else None
    if narrower is None:
        return None
    if narrower == t:
        return {s: extent}
    return {t: extent_of(narrower), s: SymbolicInt({(narrower,): k * narrower.step // t.step})}


def _stepped(s: Symbol, factor: int) -> Symbol | None:
    """The length with a step that many times as large; None if no length is left."""
    return s.within(s.low, s.high, s.step * factor)


def _factors(difference: SymbolicInt, linear: Sequence[tuple[Symbol, int, int]]) -> Iterator[tuple[Symbol, int]]:
    """Lengths, and factors of their steps, that make quotients in the difference exact."""
    stack = [difference]
    while stack:
        for q in (a for m in stack.pop().terms for a in m if isinstance(a, Quotient)):
            if isinstance(q.dividend, SymbolicInt):
                stack.append(q.dividend)
                if not isinstance(q.divisor, SymbolicInt):
                    yield from _coprime(q.dividend, q.divisor)
    for _, k, rest in linear:
        if isinstance(rest, SymbolicInt):
            yield from _coprime(rest, abs(k))


def _coprime(formula: SymbolicInt, divisor: int) -> Iterator[tuple[Symbol, int]]:
    for m, k in formula.terms.items():
        factor = divisor // math.gcd(k, divisor)
        if len(m) == 1 and isinstance(s := m[0], Symbol) and factor > 1:
            yield s, factor


def _solved(
    state: S,
    error: Diagnostic,
    order: Sequence[Symbol],
    change: Callable[[S, Solution], S],
    errors_in: Callable[[S], Sequence[Diagnostic]],
) -> tuple[Solution, S] | None:
    """A solution that removes the error, and the state with it; else the first one with a step, after which others may remove it."""
    others: list[tuple[Solution, S]] = []
    for solution in candidates(error, order):
        changed = change(state, solution)
        errors = errors_in(changed)
        if not errors or errors[0].span is None or errors[0].span != error.span:
            return solution, changed
        if all(_is_same_length(s, x) for s, x in solution.items()):
            others.append((solution, changed))
    return others[0] if others else None


def _with(module: Module, solution: Solution) -> Module:
    symbols = symbols_of_module(module)
    return with_extents(module, {s: solution.get(s, extent_of(s)) for s in symbols | solution.keys()})


def _is_same_length(s: Symbol, extent: int) -> bool:
    """True if the extent is the length of that name, with other bounds."""
    symbol = symbol_of(extent)
    return symbol is not None and symbol.name == s.name


def _note(s: Symbol, extent: int, error: Diagnostic) -> Diagnostic:
    """The note on one equation, at the place that needs it."""
    fact = f"{s.name} is {symbols_of([extent])[0].range}" if _is_same_length(s, extent) else f"{s.name} is {extent}"
    return Diagnostic(f"{fact} in each run, or the shapes do not fit", error.span, "note")


def _tensors(param: object) -> list[TensorType]:
    t = getattr(param, "checked_type", None) or getattr(param, "type_annotation", None)
    return [leaf for leaf in tuple_leaves(t) if isinstance(leaf, TensorType)] if t is not None else []
