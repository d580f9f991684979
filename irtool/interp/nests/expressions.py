"""An expression as a straight list of operations, each done once for all lanes.

Both sides of a condition are computed, and one is taken; so what is read under a condition is read from the nearest place that
there is, and thrown away where the condition does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ...deferred import np
from ...ops.dtypes import numpy_dtype
from ...tir.expr import Const, Expr, Load, Var, always_evaluated, children, post_order
from .functions import function_of


class Memory(Protocol):
    """The memory that loads read."""

    def load(self, buffer: Any, place: Any, checked: bool) -> Any:
        """The elements at these places, counted from the beginning of the buffer; `checked`: they must be inside of it."""


class ExpressionCode:
    """The operations of one expression."""

    def __init__(self, root: Expr) -> None:
        always = always_evaluated(root)
        where: dict[Expr, int] = {}
        self.steps: list[tuple[Callable[..., Any] | None, tuple[int, ...], Any, bool]] = []
        place_of: dict[Load, Expr] = {}
        roots: list[Expr] = []
        for e in post_order(root):
            if isinstance(e, Load):
                place_of[e] = e.source.offset(e.indices)
                roots.append(place_of[e])
        for e in post_order(*roots, root):
            if e in where:
                continue
            if isinstance(e, Load):
                self._add_all(place_of[e], where)
                self.steps.append((None, (where[place_of[e]],), e.source, e in always))
                where[e] = len(self.steps) - 1
            else:
                self._add(e, where)
        self.result = where[root]

    def _add_all(self, root: Expr, where: dict[Expr, int]) -> None:
        for e in post_order(root, known=where):
            self._add(e, where)

    def _add(self, e: Expr, where: dict[Expr, int]) -> None:
        if e in where:
            return
        if isinstance(e, Const):
            value = numpy_dtype(e.dtype).type(e.value) if e.dtype != "bool" else np.bool_(e.value)
            self.steps.append((None, (), value, False))
        elif isinstance(e, Var):
            self.steps.append((None, (), e, True))
        else:
            self.steps.append((function_of(e), tuple(where[k] for k in children(e)), None, False))
        where[e] = len(self.steps) - 1

    def run(self, values: Mapping[Var, Any], memory: Memory, masked: bool) -> Any:
        """The value for all lanes. `masked`: some lanes are inactive, so their reads are not checked."""
        done: list[Any] = []
        for function, args, extra, flag in self.steps:
            if function is not None:
                done.append(function(*[done[a] for a in args]))
            elif args:
                done.append(memory.load(extra, done[args[0]], flag and not masked))
            else:
                done.append(values[extra] if flag else extra)
        return done[self.result]
