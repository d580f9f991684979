"""TVM's `relay.dataflow_pattern`: the patterns of `irtool.passes.dataflow`, with TVM's ways to use them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..ir import Expr, Module
from ..passes.dataflow import (
    DFPattern,
    RewriteRule,
    dominates,
    has_attr,
    has_dtype,
    has_shape,
    has_type,
    is_call,
    is_constant,
    is_expr,
    is_if,
    is_let,
    is_op,
    is_tuple,
    is_tuple_get_item,
    is_var,
    rewrite_patterns,
    wildcard,
)
from ..passes.dataflow import matches as _matches
from ..passes.dataflow import partition as _partition

__all__ = [
    "DFPattern",
    "DFPatternCallback",
    "dominates",
    "has_attr",
    "has_dtype",
    "has_shape",
    "has_type",
    "is_call",
    "is_constant",
    "is_expr",
    "is_if",
    "is_let",
    "is_op",
    "is_tuple",
    "is_tuple_get_item",
    "is_var",
    "match",
    "partition",
    "rewrite",
    "wildcard",
]


class DFPatternCallback:
    """A rewrite: `pattern`, and `callback(pre, post, node_map)`, which returns the replacement of a match.

    `node_map[p]` is a list, as in TVM: the nodes that the part `p` of the pattern matched.
    """

    def __init__(self, require_type: bool = False, rewrite_once: bool = False) -> None:
        self.pattern: DFPattern | None = None
        self.require_type = require_type
        self.rewrite_once = rewrite_once

    def callback(self, pre: Expr, post: Expr, node_map: Any) -> Expr:
        """The replacement of `pre`; `post` is the same over rewritten children."""
        raise NotImplementedError("define callback(self, pre, post, node_map)")

    def rewrite(self, expr: Expr) -> Expr:
        """`expr` with this rewrite applied until nothing changes."""
        return rewrite(self, expr)


class _NodeMap:
    """The nodes that each part of a pattern matched, as lists."""

    def __init__(self, match: Any) -> None:
        self._nodes = dict(match.items_of())

    def __getitem__(self, pattern: DFPattern) -> list[Expr]:
        return self._nodes[pattern]

    def __contains__(self, pattern: object) -> bool:
        return pattern in self._nodes


def match(pattern: DFPattern, expr: Expr) -> bool:
    """True if the pattern matches at the expression itself."""
    return bool(_matches(pattern, expr))


def rewrite(callbacks: DFPatternCallback | Sequence[DFPatternCallback], expr: Expr, mod: Module | None = None) -> Expr:
    """`expr` with the rewrites applied, in order, until nothing changes."""
    listed = [callbacks] if isinstance(callbacks, DFPatternCallback) else list(callbacks)
    return rewrite_patterns([_rule(c) for c in listed], expr, mod)


def _rule(callback: DFPatternCallback) -> RewriteRule:
    if callback.pattern is None:
        raise TypeError(f"{type(callback).__name__} has no pattern")

    def replace(before: Expr, after: Expr, match: Any) -> Expr:
        return callback.callback(before, after, _NodeMap(match))

    return RewriteRule(callback.pattern, replace, callback.require_type, callback.rewrite_once)


def partition(
    pattern: DFPattern, expr: Expr, attrs: dict[str, Any] | None = None, check: Callable[[Expr], bool] | None = None
) -> Expr:
    """`expr` with each match made a function and called."""
    return _partition(pattern, expr, **_without_none(attrs=attrs, check=check))


def _without_none(**options: Any) -> dict[str, Any]:
    return {k: v for k, v in options.items() if v is not None}
