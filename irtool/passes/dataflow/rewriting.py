"""Rewriting of matches by rules, until nothing changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import overload

from ...diagnostics import IrError
from ...ir import Expr, Function, Module, Op, post_order, rewrite
from .grouping import find_groups
from .matching import PatternMatch
from .patterns import DFPattern
from .screening import Screen

Replace = Callable[[Expr, Expr, PatternMatch], Expr]
"""`replace(before, after, match)`: `before` is the matched node, `after` the same over rewritten children, and `match` what
the parts of the pattern matched, rewritten too. What it returns stands in the node's place; `after` means no change."""

MOST_ROUNDS = 100
"""Applications of rules after which rules are taken to undo each other's work."""


@dataclass(frozen=True, eq=False)
class RewriteRule:
    """A pattern and the replacement of its matches.

    Attributes:
        needs_types: types are inferred before the rule is tried.
        once: one round of all rules only (looked at on the last rule).
    """

    pattern: DFPattern
    replace: Replace
    needs_types: bool = True
    once: bool = False


@overload
def rewrite_patterns(rules: Sequence[RewriteRule], root: Function, module: Module | None = None) -> Function: ...
@overload
def rewrite_patterns(rules: Sequence[RewriteRule], root: Expr, module: Module | None = None) -> Expr: ...
def rewrite_patterns(rules: Sequence[RewriteRule], root: Expr, module: Module | None = None) -> Expr:
    """`root` with the rules applied in order, in rounds, until a round changes nothing.

    Raises IrError if that does not happen within 100 applications.
    """
    from ...ir.structural import structural_equal

    screens = [Screen(rule.pattern) for rule in rules]
    count = 0
    while True:
        before = root
        present = _operators(root)
        for rule, screen in zip(rules, screens, strict=True):
            count += 1
            if not screen.may_match_with(present):
                continue
            after = apply_rule(rule, root, module)
            if after is not root:
                root = after
                present = _operators(root)
        if root is before or (rules and rules[-1].once) or structural_equal(before, root):
            return root
        if count >= MOST_ROUNDS:
            raise IrError(f"the rewrites have not come to an end after {count} applications: do two of them conflict?")


def apply_rule(rule: RewriteRule, root: Expr, module: Module | None = None) -> Expr:
    """`root` with every match of the rule replaced, once."""
    if rule.needs_types and root.checked_type is None:
        from ...infer import infer_expr

        root = infer_expr(root, module)
    groups = find_groups(rule.pattern, root)
    if not groups:
        return root
    memo: dict[Expr, Expr] = {}

    def leave(old: Expr, new: Expr) -> Expr:
        group = groups.get(old)
        if group is None:
            return new
        memo[old] = new
        now = {p: [memo.get(e, e) for e in exprs] for p, exprs in group.match.items_of()}
        return rule.replace(old, new, PatternMatch(now, group.match))

    return rewrite(root, leave, memo=memo)


def _operators(root: Expr) -> set[str]:
    return {e.name for e in post_order(root) if isinstance(e, Op)}
