"""Reshapes of reshapes, transposes of transposes, and changes of layout among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...ir import Call, Expr, TensorType
from ...ops.base import call, is_call_to
from ...ops.layout import Layout
from ..core.reshaping import reshape_to
from ..dataflow import PatternMatch, RewriteRule, is_op, wildcard


def consecutive_reshapes() -> RewriteRule:
    """`reshape(reshape(x)) ⇒ reshape(x)`, where the resulting shape is known."""
    x = wildcard()
    outer = is_op("reshape") | is_op("contrib_reverse_reshape")
    inner = is_op("reshape") | is_op("contrib_reverse_reshape")

    def replace(before: Expr, after: Expr, match: PatternMatch) -> Expr:
        t = before.checked_type
        assert isinstance(t, TensorType)
        return reshape_to(match[x], t.shape) if t.is_static else after

    return RewriteRule(outer(inner(x)), replace)


def consecutive_transposes() -> RewriteRule:
    """`transpose(transpose(x)) ⇒ transpose(x)`, or `x` if they undo each other; layout transforms are such, too."""
    x = wildcard()
    outer = is_op("transpose") | is_op("layout_transform")
    inner = is_op("transpose") | is_op("layout_transform")

    def replace(before: Expr, after: Expr, match: PatternMatch) -> Expr:
        assert isinstance(before, Call)
        first = before.args[0]
        assert isinstance(first, Call) and isinstance(before.checked_type, TensorType)
        change = _rank_change(before, first)
        if change is not None:
            return change.applied(match[x])
        rank = len(before.checked_type.shape)
        inner_order, outer_order = axis_order(first, rank), axis_order(before, rank)
        axes = tuple(inner_order[i] for i in outer_order)
        if axes == tuple(range(rank)):
            return match[x]
        return call("transpose", match[x], axes=axes)

    return RewriteRule(outer(inner(x)), replace)


def axis_order(e: Call, rank: int) -> list[int]:
    """The input axis of each of the first `rank` axes of a transpose (or layout transform)."""
    if is_call_to(e, "transpose"):
        if e.attrs.axes is None:
            return list(range(rank - 1, -1, -1))
        return [a + rank if a < 0 else a for a in e.attrs.axes[:rank]]
    source, target = Layout.parse(e.attrs.src_layout), Layout.parse(e.attrs.dst_layout)
    return [source.index(target.axes[i].letter) for i in range(rank)]


@dataclass
class _RankChange:
    """Two movements of which at least one changes the rank, as one change of layout with the other one beside it."""

    source: str
    target: str
    other: Call

    def applied(self, x: Expr) -> Expr:
        source, target = Layout.parse(self.source), Layout.parse(self.target)
        before, after = self.source, self.target
        if len(source) < len(target):
            order = axis_order(self.other, len(source))
            inverse = [0] * len(order)
            for i, axis in enumerate(order):
                inverse[axis] = i
            before = _permuted(before, inverse)
        elif len(source) > len(target):
            after = _permuted(after, axis_order(self.other, len(target)))
        if before == after:
            return x
        return call("layout_transform", x, src_layout=before, dst_layout=after)


def _permuted(layout: str, order: Sequence[int]) -> str:
    return "".join(layout[i] for i in order)


def _rank_change(outer: Call, inner: Call) -> _RankChange | None:
    change = None
    if _changes_rank(outer):
        change = _RankChange(outer.attrs.src_layout, outer.attrs.dst_layout, inner)
    if _changes_rank(inner):
        if change is None:
            change = _RankChange(inner.attrs.src_layout, inner.attrs.dst_layout, outer)
        else:
            change.source = inner.attrs.src_layout
    return change


def _changes_rank(e: Call) -> bool:
    return is_call_to(e, "layout_transform") and len(e.attrs.src_layout) != len(e.attrs.dst_layout)
