"""Making a function of everything that matches a pattern."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...ir import Call, Expr, rewrite, with_function
from .grouping import find_groups
from .patterns import DFPattern, FunctionPattern


def partition(
    pattern: DFPattern,
    root: Expr,
    attrs: Mapping[str, Any] | None = None,
    check: Callable[[Expr], bool] = lambda e: True,
) -> Expr:
    """`root` with each match of the pattern replaced by a call of a function that does the same.

    The functions carry the attribute `PartitionedFromPattern` and those in `attrs`. `check(e)` is asked for each matched
    node `e`, as it was before; where it answers False, the match stays as it is. A pattern that is itself a function
    matches nothing, since calling it would make no sense.
    """
    if isinstance(pattern, FunctionPattern):
        return root
    groups = find_groups(pattern, root)
    if not groups:
        return root
    memo: dict[Expr, Expr] = {}

    def leave(old: Expr, new: Expr) -> Expr:
        group = groups.get(old)
        if group is None or not check(old):
            return new
        marks = {"PartitionedFromPattern": group.name, **(attrs or {})}
        return Call(with_function(group.function, attrs=marks), tuple(memo.get(a, a) for a in group.args))

    return rewrite(root, leave, memo=memo)
