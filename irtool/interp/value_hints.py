"""Typical values of a function's parameters, derived from their uses in the function.

Operators say it of their arguments (`Operator.typical`). It is followed back through operators that move or scale values,
through `let`, tuples, branches and calls, to the parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..ir import (
    Call,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Module,
    Op,
    Tuple,
    TupleGetItem,
    Var,
    global_names,
    post_order,
)
from ..ops.base import Operator
from ..ops.typical import Typical, of_both
from ..symbolic_int import estimate

Path = tuple[int, ...]
"""Fields of fields of a tuple; all of it, if that is empty."""

_SWEEPS = 8
"""How often the calls of functions are followed: as deep as they are nested, mostly, and as much as recursion needs."""


class Uses:
    """`of(parameter, path)`: typical values of a tensor in it, or None if its uses do not tell."""

    @estimate
    def __init__(self, function: Function, module: Module | None = None) -> None:
        self._hints: dict[Expr, dict[Path, Typical]] = {}
        self._values: dict[Var, list[Expr]] = {}
        """What variables stand for: the value of a `let`, the arguments of all calls."""
        self._changed = False
        functions = list(_reached(function, module))
        orders = [post_order(f.body) for f in functions]
        by_name = module.functions if module is not None else {}
        self._bodies: dict[Expr, Function] = {}
        for e in (e for order in orders for e in order):
            if isinstance(e, Let):
                self._values.setdefault(e.var, []).append(e.value)
            elif isinstance(e, Call):
                callee = by_name.get(e.op.name) if isinstance(e.op, GlobalVar) else e.op
                if isinstance(callee, Function) and len(callee.params) == len(e.args):
                    self._bodies[e] = callee
                    for p, a in zip(callee.params, e.args, strict=True):
                        self._values.setdefault(p, []).append(a)
        for _ in range(_SWEEPS):
            self._changed = False
            for order in orders:
                for e in reversed(order):
                    self._follow(e)
            if not self._changed:
                break

    def of(self, parameter: Var, path: Path = ()) -> Typical | None:
        """Typical values of the tensor at this place in the parameter."""
        result = None
        for place, typical in self._hints.get(parameter, {}).items():
            if path[: len(place)] == place:
                result = of_both(result, typical)
        return result

    def _want(self, e: Expr, path: Path, hint: Typical | None) -> None:
        """Notes typical values of an expression, and of the value of a variable."""
        stack = [e]
        while hint is not None and stack:
            e = stack.pop()
            known_hints = self._hints.setdefault(e, {})
            new = of_both(known_hints.get(path), hint)
            if new is not None and new != known_hints.get(path):
                known_hints[path] = new
                self._changed = True
                stack += self._values.get(e, []) if isinstance(e, Var) else []

    def _follow(self, e: Expr) -> None:
        """Hands the typical values of an expression on to its operands."""
        if isinstance(e, Call) and isinstance(e.op, Op):
            self._follow_operator(e, e.op.operator)
        for path, hint in list(self._hints.get(e, {}).items()):
            if isinstance(e, Tuple):
                for n, f in enumerate(e.fields):
                    if not path or path[0] == n:
                        self._want(f, path[1:], hint)
            elif isinstance(e, TupleGetItem):
                self._want(e.tuple, (e.index, *path), hint)
            elif isinstance(e, Let):
                self._want(e.body, path, hint)
            elif isinstance(e, If):
                self._want(e.true_branch, path, hint)
                self._want(e.false_branch, path, hint)
            elif isinstance(e, Match):
                for clause in e.clauses:
                    self._want(clause.body, path, hint)
            elif e in self._bodies:
                self._want(self._bodies[e].body, path, hint)

    def _follow_operator(self, e: Call, operator: type[Operator]) -> None:
        hint = None
        for typical in self._hints.get(e, {}).values():
            hint = of_both(hint, typical)
        attrs = e.attrs if isinstance(e.attrs, Operator) else operator.make()
        argument_hints = attrs.typical([a.checked_type for a in e.args], e.checked_type, hint)
        for argument, typical in zip(e.args, argument_hints):
            fields = typical if isinstance(typical, Sequence) else None
            if fields is None:
                self._want(argument, (), typical)
            else:
                for n, one in enumerate(fields):
                    self._want(argument, (n,), one)


def _reached(function: Function, module: Module | None) -> Iterator[Function]:
    """The function and those that it calls by name, directly or not."""
    seen: set[str] = set()
    stack = [function]
    while stack:
        f = stack.pop()
        yield f
        for name in global_names(f) if module is not None else ():
            callee = module.functions.get(name) if module is not None else None
            if name not in seen and isinstance(callee, Function):
                seen.add(name)
                stack.append(callee)


__all__ = ["Uses"]
