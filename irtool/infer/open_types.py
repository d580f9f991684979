"""Undecided types: the parameters and expressions of a function whose types nothing decides."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from ..diagnostics import Diagnostic
from ..ir import Call, Constructor, Expr, Function, GlobalVar, IncompleteType, Op, Type, TypeCall, type_children
from ..ir.show import show_expr
from .constraints import Constraints
from .mistakes import OpenType
from .solver import TypeRelation

_NOT_NAMED = (Op, GlobalVar, Constructor, Function)
"""Open only because something else is."""


def report_open(inferred: Constraints, name: str, order: Sequence[Expr]) -> Diagnostic | None:
    """The diagnostic for the open types of one function; None if it has none.

    Args:
        name: the function's name; empty for an expression outside of any.
        order: the expressions of the function, children first, binders before what they scope over.

    The parameters to annotate are named, and the expressions that no parameter is to blame for; what only follows from
    them is not.
    """
    solver = inferred.solver
    reported: set[Type] = set()
    to_annotate: list[Expr] = []
    open_relations: list[tuple[Expr, TypeRelation]] = []
    waiting: dict[Type, TypeRelation] | None = None
    params = {p for e in order if isinstance(e, Function) for p in e.params}
    for e in order:
        if e.__class__ in _NOT_NAMED:
            continue
        t = solver.resolve(inferred.types[e])
        if not t.is_open:
            continue
        new = [u for u in unknowns(t) if u not in solver.poisoned and u not in reported]
        if not new or (t.__class__ is not IncompleteType and e not in params):
            continue
        if waiting is None:
            waiting = {solver.find(r.out): r for r in reversed(solver.pending) if r.out is not None}
        rule = waiting.get(t)
        if rule is None or e in params:
            to_annotate.append(e)
        elif not any(u in reported for a in rule.types for u in unknowns(solver.resolve(a))):
            open_relations.append((e, rule))
        reported.update(new)
    if to_annotate:
        return _to_annotate(to_annotate, name, params)
    if open_relations:
        e, rule = open_relations[0]
        shown = ", ".join(str(solver.resolve(a)) for a in rule.types)
        return Diagnostic(
            f"the type of {show_expr(e)} cannot be inferred from its arguments ({shown})", e.span, code=OpenType
        )
    return None


def _to_annotate(exprs: Sequence[Expr], name: str, params: Container[Expr]) -> Diagnostic:
    first = exprs[0]
    if len(exprs) == 1 and isinstance(first, Call) and isinstance(first.op, GlobalVar):
        what = f"annotate the result of {show_expr(first.op)}"
        return Diagnostic(f"the type of {show_expr(first)} cannot be inferred: {what}", first.span, code=OpenType)
    exprs = [e for e in exprs if e in params] or exprs
    shown = list(dict.fromkeys(show_expr(e) for e in exprs))
    listed = _listed(shown[:6], len(shown) - 6)
    where = f" of @{name}" if name and len(shown) > 1 else ""
    one = len(shown) == 1
    message = f"the type{'s' * (not one)} of {listed}{where} cannot be inferred: annotate {'it' if one else 'them'}"
    return Diagnostic(message, exprs[0].span, code=OpenType)


def _listed(names: Sequence[str], more: int) -> str:
    """`a`, `a and b`, `a, b and c`, `a, b and 3 others`."""
    if more > 0:
        return f"{', '.join(names)} and {more} other{'s' * (more != 1)}"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def unknowns(t: Type) -> Iterable[Type]:
    """The unknowns in a type that matter: arguments of algebraic data that nothing ever looks at may stay open."""
    stack = [t]
    while stack:
        u = stack.pop()
        if u.__class__ is IncompleteType:
            yield u
        elif u.is_open and u.__class__ is not TypeCall:
            stack.extend(type_children(u))


def has_unknowns(t: Type) -> bool:
    """True if a type has an unknown that matters (see `unknowns`)."""
    return t.is_open and next(iter(unknowns(t)), None) is not None
