"""Analyses of an expression, under TVM's names."""

from __future__ import annotations

from collections.abc import Callable

from ..ir import Expr, Module, Var, bound_variables, free_variables, post_order


def free_vars(expr: Expr) -> list[Var]:
    """The variables that are used in `expr` and not bound there, in order of first use."""
    return free_variables(expr)


def bound_vars(expr: Expr) -> list[Var]:
    """The variables that are bound in `expr`."""
    return list(dict.fromkeys(bound_variables(expr)))


def all_vars(expr: Expr) -> list[Var]:
    """All variables of `expr`, bound or free."""
    return list(dict.fromkeys([*free_variables(expr), *bound_variables(expr)]))


def post_order_visit(expr: Expr, visit: Callable[[Expr], object]) -> None:
    """Calls `visit` on each node once, operands before the node."""
    for e in post_order(expr):
        visit(e)


def check_basic_block_normal_form(what: Expr | Module) -> bool:
    """True if every shared expression has one scope that it is evaluated in."""
    from ..passes.to_basic_block_normal_form import is_basic_block_normal_form

    return is_basic_block_normal_form(what)
