"""Rewrites of the body of a vectorized loop after lowering, see `peepholes`; steps without a use are dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from . import ir
from .peepholes import PEEPHOLES, Peephole


def rewrite(body: ir.Body, peepholes: Sequence[Peephole] = PEEPHOLES) -> None:
    """Rewrites each step, operands first, until no peephole matches; the parts of a `Pick` come after the body around them."""
    replaced: dict[ir.Value, ir.Value] = {}
    emitted: set[ir.Step] = set()
    reused: set[ir.Value] = set()
    bodies = [body]
    for part in bodies:
        steps: list[ir.Step] = []
        for s in part.steps:
            if replaced:
                _replace_operands(s, replaced)
            last = s
            while (match := _match(last, peepholes)) is not None:
                *before, last = match
                steps += before
                emitted.update(before)
            if isinstance(s, ir.Value) and isinstance(last, ir.Value) and last is not s:
                replaced[s] = last
                last.named |= s.named
                reused |= {last} & emitted
            if last not in emitted:
                steps.append(last)
                emitted.add(last)
            if isinstance(s, ir.Pick):
                bodies += [s.then, s.other]
        part.steps = steps
        if part.result is not None:
            part.result = replaced.get(part.result, part.result)
    _drop_unused(bodies, reused)


def _match(s: ir.Step, peepholes: Sequence[Peephole]) -> Sequence[ir.Step] | None:
    """The steps of the first peephole that matches."""
    for peephole in peepholes:
        result = peephole(s)
        if result is not None:
            return result
    return None


def replace_values(body: ir.Body, replaced: Mapping[ir.Value, ir.Value]) -> None:
    """Replaces the uses of values."""
    bodies = [body]
    for part in bodies:
        for s in part.steps:
            _replace_operands(s, replaced)
            bodies += [s.then, s.other] if isinstance(s, ir.Pick) else []
        if part.result is not None:
            part.result = replaced.get(part.result, part.result)


def _replace_operands(s: ir.Step, replaced: Mapping[ir.Value, ir.Value]) -> None:
    for name, x in vars(s).items():
        if isinstance(x, ir.Value):
            setattr(s, name, replaced.get(x, x))
        elif isinstance(x, tuple) and any(isinstance(v, ir.Value) for v in x):
            setattr(s, name, tuple(replaced.get(v, v) for v in x))


def _drop_unused(bodies: Sequence[ir.Body], reused: set[ir.Value]) -> None:
    """Removes the values that no store and no result needs; values with a new use are `named`."""
    uses: Counter[ir.Value] = Counter()
    stack: list[ir.Step] = [s for part in bodies for s in part.steps if not isinstance(s, ir.Value)]
    stack += [bodies[0].result] if bodies[0].result is not None else []
    while stack:
        s = stack.pop()
        used = ir.operands(s)
        if isinstance(s, ir.Pick):
            used += [part.result for part in (s.then, s.other) if part.result is not None]
        for v in used:
            uses[v] += 1
            stack += [v] if uses[v] == 1 else []
    for part in bodies:
        part.steps = [s for s in part.steps if not isinstance(s, ir.Value) or s in uses]
    for v in reused:
        v.named |= uses[v] > 1
