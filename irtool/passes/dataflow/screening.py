"""A quick look before matching: which operators must occur for a pattern to match at all, and where it can start."""

from __future__ import annotations

from ...ir import Call, Expr, Op, post_order
from ...ops.base import operators
from .matching import has_attribute
from .patterns import (
    AltPattern,
    AttrPattern,
    CallPattern,
    DataTypePattern,
    DFPattern,
    DominatorPattern,
    ExprPattern,
    ShapePattern,
    TypePattern,
)


class Screen:
    """Necessary conditions for a match of one pattern; they never turn a match away."""

    def __init__(self, pattern: DFPattern) -> None:
        self.pattern = pattern
        self.starts = _called(pattern)

    def may_match(self, root: Expr) -> bool:
        """True if anything below the root may match, judged by the operators that occur."""
        present = {e.name for e in post_order(root) if isinstance(e, Op)}
        return self.may_match_with(present)

    def may_match_with(self, present: set[str]) -> bool:
        """The same, given the names of the operators that occur."""
        return _possible(self.pattern, present)

    def may_start(self, e: Expr) -> bool:
        """True if the pattern as a whole may match at this node."""
        if self.starts is None:
            return True
        return isinstance(e, Call) and isinstance(e.op, Op) and e.op.name in self.starts


def _called(p: DFPattern) -> frozenset[str] | None:
    """Names of the operators of which every match of the pattern is a call; None if it may be anything else."""
    if isinstance(p, CallPattern):
        names = _operators(p.op)
        # Products of quotients match quotients of products, and the other way round.
        return names | {"multiply", "divide"} if names and names & {"multiply", "divide"} else names
    if isinstance(p, AltPattern):
        left, right = _called(p.left), _called(p.right)
        return None if left is None or right is None else left | right
    if isinstance(p, DominatorPattern):
        return _called(p.child)
    if isinstance(p, AttrPattern | TypePattern | ShapePattern | DataTypePattern):
        return _called(p.pattern)
    return None


def _operators(p: DFPattern) -> frozenset[str] | None:
    """Names of the operators that the pattern can match; None if it may match anything else."""
    if isinstance(p, ExprPattern):
        return frozenset([p.expr.name]) if isinstance(p.expr, Op) else None
    if isinstance(p, AltPattern):
        left, right = _operators(p.left), _operators(p.right)
        return None if left is None or right is None else left | right
    return None


def _possible(p: DFPattern, present: set[str]) -> bool:
    if isinstance(p, ExprPattern):
        return not isinstance(p.expr, Op) or p.expr.name in present
    if isinstance(p, AltPattern):
        return _possible(p.left, present) or _possible(p.right, present)
    if isinstance(p, AttrPattern) and "TOpPattern" in p.attrs:
        from ...ops.base import op

        return any(n in operators and _declares(op(n), p) for n in present)
    return all(_possible(q, present) for q in p.parts())


def _declares(e: Op, p: AttrPattern) -> bool:
    return all(has_attribute(e, k, v) for k, v in p.attrs.items())
