"""Questions about programs, under the names that they have in TVM's `relay.analysis`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..diagnostics import Diagnostic, IrError, Span
from .expr import Expr, Function, If, Let, Match, Var
from .mistakes import NotInBasicBlocks
from .module import Module
from .scope import Scope, Scopes, users_of
from .show import show_expr


def check_basic_block_normal_form(root: Module | Expr) -> bool:
    """True if every node of a module, function or expression is evaluated where the text would first write it.

    Raises IrError that names each expression which is not: one that is used in a branch, a clause, a function or a `let`
    and outside of it as well, so that it must be evaluated in the scope around both (`ToBasicBlockNormalForm` binds it
    there). What the pass leaves alone is not looked at: functions of a module that an outside compiler takes (`Compiler`)
    and what is inside kernels (`Primitive`).
    """
    violations = basic_block_violations(root)
    if violations:
        raise IrError(violations)
    return True


def basic_block_violations(root: Module | Expr) -> list[Diagnostic]:
    """The errors of `check_basic_block_normal_form`; empty for a program in that form."""
    if not isinstance(root, Module):
        return _violations(root, "the function" if isinstance(root, Function) else "the expression")
    diagnostics: list[Diagnostic] = []
    for name, f in root.functions.items():
        if isinstance(f, Function) and "Compiler" not in f.attrs:
            diagnostics += _violations(f, f"@{name}")
    return diagnostics


def _violations(root: Expr, name: str) -> list[Diagnostic]:
    scopes = Scopes(root)
    if not scopes.lifted:
        return []
    opened = {scope: (e, slot) for e, inner in scopes.inner.items() for slot, scope in enumerate(inner)}
    users = users_of(root)

    def where(scope: Scope) -> str:
        opener = opened.get(scope)
        if opener is None:
            return "around the whole function" if isinstance(root, Function) else "around the whole expression"
        return _describe(*opener, name if opener[0] is root and isinstance(root, Function) else "")

    violations = []
    for e, scope in scopes.of.items():
        if e in scopes.lifted and not _in_kernel(scope, opened):
            user_scopes = [scopes.inner[user][slot] if slot >= 0 else scopes.of[user] for user, slot in users[e]]
            distinct = list(dict.fromkeys(user_scopes))
            used = " and ".join(where(s) for s in distinct[:3]) + (" …" if len(distinct) > 3 else "")
            violations.append(
                Diagnostic(
                    f"{_subject(e)} violates the basic-block normal form: its scope should be lifted",
                    _place(e, users[e][0][0]),
                    notes=(f"it is used {used}", f"it is evaluated {where(scopes.of[e])}, which encloses them"),
                    help="bind it there with let, as the pass ToBasicBlockNormalForm does",
                    code=NotInBasicBlocks,
                )
            )
    return sorted(violations, key=lambda d: -1 if d.span is None else d.span.start)


def _in_kernel(scope: Scope, opened: Mapping[Scope, tuple[Expr, int]]) -> bool:
    while scope in opened:
        opener = opened[scope][0]
        if isinstance(opener, Function) and opener.attrs.get("Primitive"):
            return True
        scope = scope.parent
    return False


def _subject(e: Expr) -> str:
    shown = show_expr(e)
    return shown if isinstance(e, Var) or shown.endswith(")") else f"the expression {shown}"


def _place(e: Expr, user: Expr) -> Span | None:
    return e.span if e.span is not None and not isinstance(e, Var) else user.span or e.span


_OPENED: dict[type, Any] = {
    Function: lambda e, slot: "in the body of a function",
    Let: lambda e, slot: f"below the let of %{e.var.name}",
    If: lambda e, slot: f"in the {'else' if slot else 'then'} branch of an if",
    Match: lambda e, slot: f"in clause {slot + 1} of a match",
}


def _describe(e: Expr, slot: int, name: str) -> str:
    """The place of a scope, by the node that opens it."""
    if name:
        return f"in the body of {name}"
    text: str = _OPENED[e.__class__](e, slot)
    if e.span is None:
        return text
    line, column = e.span.source.position(e.span.start)
    return f"{text} at {line}:{column}"


__all__ = ["basic_block_violations", "check_basic_block_normal_form"]
