"""Windows of a reduction: the axes of an operand along which each result reads a window, as a convolution or a pool does.

    for y in 7: for k in 3: acc += x[y * 2 + k - 1] * w[k]      Window(result=y, tap=k, stride=2, dilation=1, first=-1)

An operator says which axes of its sum run over windows (`te.reduce_axis(n, window=True)`): a sum over channels may have the same index
arithmetic as one over a window. Lowering notes the windows in the reduction (`Reduction.windows`), and rewrites carry their taps. Strides,
dilation and padding are those of the operand that is read: each new reduction reads them once, and drops a window whose tap is no
axis of the sum any more, or that no operand is read by.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..symbolic_int import as_integer
from .expr import Expr, Load, Var, const, post_order
from .simplify import Simplifier

Loop = tuple[Var, int]
"""An axis: its variable runs over 0 … extent - 1."""


@dataclass(frozen=True, eq=False)
class Window:
    """Windows along an axis of an operand: its index is `result * stride + tap * dilation + first`.

    Attributes:
        result: the loop over results, one window each; None if there is a single window. Its `stride` is 0 then.
        tap: the axis of the sum that runs over the elements of a window.
        stride, dilation: elements between windows, and between the elements of one.
        first: the first element of the first window; -1 if one element of padding is before the operand's. It may depend on other
            loops, such as the phase of a transposed convolution.
    """

    result: Var | None
    tap: Var
    stride: int
    dilation: int
    first: Expr

    def moves_as(self, other: Window) -> bool:
        """True if both are along the same axes, by the same steps."""
        steps = (self.stride, self.dilation) == (other.stride, other.dilation)
        return steps and self.result is other.result and self.tap is other.tap

    @property
    def index(self) -> Expr:
        """The index that it stands for."""
        begin = self.first if self.result is None else self.result * self.stride + self.first
        return begin + self.tap * self.dilation


def window_at(index: Expr, loops: Sequence[Loop], inner: Sequence[Loop], simplify: Simplifier) -> Window | None:
    """An index as that of a window; None unless it grows evenly with one axis of the sum, and with one loop over results or none."""
    terms, rest = simplify.linear(index)
    taps = {v: None for v, _ in inner if v in terms}
    results = {v: None for v, _ in loops if v in terms}
    if len(taps) != 1 or len(results) > 1 or any(terms[v] < 1 for v in (*taps, *results)):
        return None
    first: Expr = const(as_integer(rest))
    for e, step in terms.items():
        if e in taps or e in results:
            continue
        if any(x in taps or x in results for x in post_order(e)):
            return None
        first = first + e * as_integer(step)
    (tap,), result = taps, next(iter(results), None)
    return Window(result, tap, as_integer(terms[result]) if result is not None else 0, as_integer(terms[tap]), first)


def windows_of(
    taps: Sequence[Var], operands: Sequence[Load], loops: Sequence[Loop], inner: Sequence[Loop]
) -> Iterator[Window]:
    """The windows with these taps, by which operands are read. None of a tap by which two operands have windows of different strides."""
    simplify = Simplifier({v: (0, n - 1) for v, n in (*loops, *inner)})
    every = [w for e in operands for i in e.indices if (w := window_at(i, loops, inner, simplify)) is not None]
    for tap in taps:
        moving = [w for w in every if w.tap is tap]
        # A weight's index is the tap alone: it is no window where another operand has windows.
        candidates = [w for w in moving if w.result is not None] or sorted(moving, key=lambda w: -w.dilation)[:1]
        if candidates and all(w.moves_as(candidates[0]) for w in candidates):
            yield candidates[0]


def overlapping_taps(operands: Sequence[Load], loops: Sequence[Loop], inner: Sequence[Loop]) -> list[Var]:
    """The axes of a sum along which windows of neighbouring results overlap: taps for certain, in a nest whose operator is not known."""
    simplify = Simplifier({v: (0, n - 1) for v, n in (*loops, *inner)})
    every = (window_at(i, loops, inner, simplify) for e in operands for i in e.indices)
    extents = dict(inner)
    sure = {
        w.tap for w in every if w is not None and w.result is not None and w.stride <= (extents[w.tap] - 1) * w.dilation
    }
    return [v for v, _ in inner if v in sure]


def renamed_taps(windows: Sequence[Window], values: Mapping[Expr, Expr], inner: Sequence[Loop]) -> tuple[Window, ...]:
    """The windows of a reduction whose variables are replaced by `values`, over other axes `inner` of the sum: those whose taps are
    still one axis, from whatever element on. Their other facts are read anew when the reduction is made."""
    result = []
    for w in windows:
        inside = {x for x in post_order(values.get(w.tap, w.tap)) if isinstance(x, Var)}
        taps = [v for v, _ in inner if v in inside]
        if len(taps) == 1 == len(inside):
            result.append(Window(w.result, taps[0], w.stride, w.dilation, w.first))
    return tuple(result)
