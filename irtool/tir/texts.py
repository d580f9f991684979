"""Expressions of a statement as text, with names for long parts."""

from __future__ import annotations

from collections.abc import Callable

from .expr import Expr, always_evaluated, children
from .stmt import Stmt, While


def expression_texts(
    s: Stmt,
    write: Callable[[Expr, list[str]], str],
    shorten: Callable[[Expr, str, bool], str],
    longest: int,
) -> Callable[[Expr], str]:
    """A function that writes the expressions of one statement: children first, each once, without recursion.

    `write` gives the text of an expression over the texts of its children. `shorten` gives what stands for a text of more than
    `longest` characters; its flag is True where a `let` before the statement may compute the value: what stands under a
    condition, or is evaluated again in every turn, has none there.
    """
    memo: dict[Expr, str] = {}
    always: dict[Expr, set[Expr]] = {}

    def may_be_named(e: Expr, root: Expr) -> bool:
        if e is root or isinstance(s, While):
            return False
        if root not in always:
            always[root] = always_evaluated(root)
        return e in always[root]

    def text(root: Expr) -> str:
        stack: list[tuple[Expr, bool]] = [(root, False)]
        while stack:
            e, ready = stack.pop()
            if e in memo:
                continue
            kids = children(e)
            if kids and not ready:
                stack.append((e, True))
                stack.extend((k, False) for k in reversed(kids))
                continue
            written = write(e, [memo[k] for k in kids])
            memo[e] = written if len(written) <= longest else shorten(e, written, may_be_named(e, root))
        return memo[root]

    return text
