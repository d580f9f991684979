"""The most times that a function calls itself: from a counter that each turn increases, and compares with a limit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...ir import Call, Constant, Expr, Function, If, Let, Op, Var, post_order
from ...ops.base import is_call_to
from ...passes.core.constants import has_data, to_array
from .ranges import RangeAnalysis
from .tails import tails_of

_COMPARISONS = {"less": (0, 1, 0), "less_equal": (0, 1, 1), "greater": (1, 0, 0), "greater_equal": (1, 0, 1)}
"""For each comparison the arguments that are the counter and the limit, and how many more turns there are than their difference."""


class Turns:
    """The turns of a function that ends with calls of itself, called with some arguments."""

    def __init__(self, name: str, f: Function, args: Sequence[Expr], ranges: RangeAnalysis) -> None:
        self.name = name
        self.params = list(f.params)
        self.args = list(args)
        self.ranges = ranges
        self.body = f.body
        self.tails = tails_of(f.body, name)
        self.values = {e.var: e.value for e in post_order(f.body) if isinstance(e, Let)}
        self.same = [n for n, p in enumerate(self.params) if all(c.args[n] is p for c in self.tails.again)]
        """The numbers of the parameters that each turn hands on as they are."""

    def most(self) -> int | None:
        """The most of them; None if nothing bounds them. `if (less(%i, %n)) { …@f(add(%i, 1), …) }` does, where `%n` stays as it is."""
        limits: list[int] = []
        for end in self.tails.again:
            bounds = [b for test in self._tests(end) if (b := self._bound(test)) is not None]
            if not bounds:
                return None
            limits.append(min(bounds))
        return max(limits, default=None)

    def _tests(self, end: Call) -> Iterator[Expr]:
        """The conditions that hold where a turn ends with this call."""
        for e in self.tails.around:
            if not isinstance(e, If):
                continue
            then, other = (tails_of(arm, self.name).again for arm in (e.true_branch, e.false_branch))
            if end in then and end not in other:
                stack = [e.cond]
                while stack:
                    test = self._value(stack.pop())
                    if is_call_to(test, "logical_and"):
                        stack += test.args
                    else:
                        yield test

    def _bound(self, test: Expr) -> int | None:
        """The most turns in which a comparison holds."""
        if not isinstance(test, Call) or not isinstance(test.op, Op) or test.op.name not in _COMPARISONS:
            return None
        counter_place, limit_place, more = _COMPARISONS[test.op.name]
        counter, limit = self._value(test.args[counter_place]), self._value(test.args[limit_place])
        if counter not in self.params:
            return None
        number = self.params.index(counter)  # type: ignore[arg-type]  # it is one of them
        steps = [self._step(self._value(c.args[number]), counter) for c in self.tails.again]
        if isinstance(limit, Var):
            if limit not in self.params or (place := self.params.index(limit)) not in self.same:
                return None
            limit = self.args[place]
        elif not isinstance(limit, Constant):
            return None
        start, most = self.ranges.whole(self.args[number]).least, self.ranges.whole(limit).most
        by = min((s for s in steps if s is not None), default=0)
        if None in steps or by < 1 or start is None or most is None:
            return None
        return max(0, -(-(most + more - start) // by))

    def _step(self, e: Expr, counter: Expr) -> int | None:
        """The number that is added to the counter; None for another expression."""
        if not is_call_to(e, "add") or self._value(e.args[0]) is not counter:
            return None
        by = self._value(e.args[1])
        return int(to_array(by)) if isinstance(by, Constant) and has_data(by) and to_array(by).size == 1 else None

    def _value(self, e: Expr) -> Expr:
        """The value of a variable of a `let`; any other expression."""
        while isinstance(e, Var) and e in self.values:
            e = self.values[e]
        return e
