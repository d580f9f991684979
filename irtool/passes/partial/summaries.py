"""Results of global functions for unknown arguments, so that a body is evaluated once for all of its calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...ir import Constructor, Expr, Function, GlobalVar, Let, Op, Var
from .values import Partial, StaticData, StaticFunction, StaticTensor, StaticTuple

_WORTH = 4
"""A summary is used where evaluating the body took more than so many times as many steps as there are bindings in it."""


@dataclass(frozen=True, eq=False)
class Summary:
    """The code of a function, evaluated with unknown arguments.

    Attributes:
        residual: the function: `let`s around an atom.
        size: the number of the `let`s.
        result: the known parts of its value.
        has_effects: whether references may hold something else after a call.
    """

    residual: Function
    size: int
    result: Partial
    has_effects: bool


class Summaries:
    """Summaries by the number of the function, and the conditions for one."""

    def __init__(self) -> None:
        self._summaries: dict[int, Summary] = {}
        self._recurs: list[bool] = [False]

    def begin(self) -> None:
        """The code of a global function is evaluated from now on, maybe while another one's is."""
        self._recurs.append(False)

    def note_recursion(self) -> None:
        """Notes that a function was applied in its own body: its result depends on the age of the arguments."""
        self._recurs[-1] = True

    def end(self, number: int, summary: Summary | None, steps: int) -> None:
        """The evaluation is over, after so many steps; it was given up if there is no `summary`."""
        recurs = self._recurs.pop()
        if summary is None or recurs or steps <= _WORTH * (summary.size + 1):
            return
        if _is_closed(summary.result):
            self._summaries[number] = summary

    def fitting(self, number: int, arguments: Sequence[Partial]) -> Summary | None:
        """The summary of a call with these arguments: of all of them, nothing is known."""
        summary = self._summaries.get(number)
        return summary if summary is not None and all(a.known is None for a in arguments) else None


def moved(result: Partial, bound: dict[Expr, Partial], atoms: dict[Expr, Expr], clock: int) -> Partial:
    """`result` with other atoms. `bound` has replacements of some of its parts: arguments for parameters."""
    memo: dict[Partial, Partial] = {}
    stack = [(result, False)]
    while stack:
        value, ready = stack.pop()
        if value in memo:
            continue
        fields = _fields(value)
        if fields and not ready:
            stack.append((value, True))
            stack.extend((f, False) for f in fields)
            continue
        parts = tuple(memo[f] for f in fields)
        known = value.known
        if isinstance(known, StaticTuple):
            known = StaticTuple(parts)
        elif isinstance(known, StaticData):
            known = StaticData(known.constructor, parts)
        elif known is None and value.dynamic in bound:
            memo[value] = bound[value.dynamic]
            continue
        memo[value] = Partial(known, atoms.get(value.dynamic, value.dynamic), clock)
    return memo[result]


def _is_closed(result: Partial) -> bool:
    """True if the known part holds in any call: it has no references, and no functions with captured variables."""
    seen: set[Partial] = set()
    stack = [result]
    while stack:
        value = stack.pop()
        if value in seen:
            continue
        seen.add(value)
        stack += _fields(value)
        known = value.known
        if isinstance(known, StaticFunction):
            if not isinstance(value.dynamic, GlobalVar | Op | Constructor):
                return False
        elif not (known is None or isinstance(known, StaticData | StaticTensor | StaticTuple)):
            return False
    return True


def _fields(value: Partial) -> tuple[Partial, ...]:
    return value.known.fields if isinstance(value.known, StaticData | StaticTuple) else ()


def variables(residual: Function) -> list[Var]:
    """The variables that the `let`s of a residual function bind, in order."""
    result, body = [], residual.body
    while isinstance(body, Let):
        result.append(body.var)
        body = body.body
    return result
