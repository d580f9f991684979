"""Reductions as convolutions that Winograd supports."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ....symbolic_int import as_integer, holds, is_known
from ....tir.expr import Binary, Const, Expr, Load, Var
from ....tir.forms import AnyForm, Loop, Reduction
from ....tir.kernel import Kernel
from ....tir.program import RunKernel, constant_inputs
from ....tir.simplify import Simplifier
from ....tir.stmt import Buffer
from ...core.affine import simplifier
from ...core.guards import existing_elements, extract_predicates
from ...core.products import sum_of_products
from ...windows.padded_copy import without_padded_copy
from .axes import AnyAxis, DepthAxis, SpatialAxis, no_rows
from .convolution import Convolution

_MOST_TAPS = 5
"""The most taps of a window along an axis, for each phase of the stride: tiles of larger windows need more points, which cost
digits."""

_TAPS_OF_PART = 3
"""Taps of each part of a larger window: the most that tiles of four results have points for."""


def convolutions_of(s: RunKernel) -> tuple[Convolution, ...]:
    """The stages of a call that are convolutions with constant weights; the same objects for all calls of a kernel."""
    return _convolutions_of(s.kernel, tuple(constant_inputs([s])))


@lru_cache(maxsize=64)
def _convolutions_of(k: Kernel, constants: tuple[Buffer, ...]) -> tuple[Convolution, ...]:
    convolutions = (find_convolution(k.stages, number, constants) for number in range(len(k.stages)))
    return tuple(c for c in convolutions if c is not None)


def find_convolution(forms: Sequence[AnyForm], number: int, inputs: Sequence[Buffer]) -> Convolution | None:
    """The stage as a convolution whose weights are among the kernel's inputs; None for other stages."""
    r = forms[number]
    if not isinstance(r, Reduction) or not r.windows:
        return None
    opened = without_padded_copy(forms, number, plain=True)
    # A convolution is transformed only if its weights, which multiply the padding, are finite.
    guarded = extract_predicates(opened, formed=True) if opened is not None else None
    convolution = _convolution(guarded, inputs, 1) if guarded is not None else None
    guarded = extract_predicates(r)
    return convolution or (_convolution(guarded, inputs, 0) if not guarded.formed else None)


def _convolution(r: Reduction, inputs: Sequence[Buffer], copies: int) -> Convolution | None:
    """A reduction with guards as a convolution; `copies`: the number of copies of the data before it that are not needed."""
    sum_of_all = replace(r, guards=(), formed=False)
    product = sum_of_products(sum_of_all)
    pairs = product.with_weights(inputs) if product is not None and r.acc.dtype == "float32" else ()
    return next((c for pair in pairs if (c := _matched(sum_of_all, *pair, r.guards, copies)) is not None), None)


@dataclass(frozen=True, eq=False)
class _Index:
    """An index of the data, `of * stride + tap * dilation + shift`; one of the two loops may be absent.

    `group`: the variable of filters, and the number of filters of a group, whose first channel is added to the index.
    """

    place: int
    of: Loop | None
    stride: int
    tap: Loop | None
    dilation: int
    shift: int
    size: int
    group: Loop | None = None

    @property
    def is_window(self) -> bool:
        """True for a row or a column of windows that Winograd supports."""
        if self.of is None or self.tap is None:
            return False
        taps = self.tap[1]
        fits = (
            is_known(taps)
            and self.stride < taps
            and min(self.stride, self.dilation) == 1
            and holds(operator.lt, (taps - 1) * self.dilation, self.size)
        )
        return fits and not (self._is_long and self.stride > 1)

    @property
    def _is_long(self) -> bool:
        """True for a window of so many taps that it is split into parts."""
        return self.tap is not None and self.tap[1] > _MOST_TAPS * self.stride

    @property
    def is_variable(self) -> bool:
        """True if the index is a loop's variable."""
        return self.shift == 0 and (self.stride, self.dilation) in ((1, 0), (0, 1))

    @property
    def spatial(self) -> SpatialAxis:
        """The axis of rows or columns."""
        assert self.of is not None and self.tap is not None
        taps, parts = (_TAPS_OF_PART, -(-self.tap[1] // _TAPS_OF_PART)) if self._is_long else (self.tap[1], 1)
        return SpatialAxis(self.shift, 0, self.size - 1, *self.of, taps, self.dilation, self.stride, parts)

    @property
    def depth(self) -> DepthAxis:
        """The axis of slices."""
        of, results = self.of or (None, 1)
        taps = self.tap[1] if self.tap is not None else 1
        return DepthAxis(self.shift, 0, self.size - 1, of, results, Var("slice"), taps, self.stride, self.dilation)


def _group(terms: Mapping[Expr, float], r: Reduction) -> Loop | None:
    """The variable v, and the n of its steps whose group has channels of its own, in `v // n * channels + channel`; None without
    groups."""
    extents = dict((*r.loops, *r.inner))
    quotients = [e for e in terms if not isinstance(e, Var)]
    channels = [n for v, n in r.inner if terms.get(v) == 1]
    if len(quotients) != 1 or len(channels) != 1 or len(terms) != 2:
        return None
    (quotient,), (count,) = quotients, channels
    if not isinstance(quotient, Binary) or quotient.op != "floordiv" or terms[quotient] != count:
        return None
    v, n = quotient.a, quotient.b
    if not isinstance(v, Var) or not isinstance(n, Const) or v not in dict(r.loops) or extents[v] % n.value:
        return None
    return v, n.int_value


def _indices(r: Reduction, data: Load) -> list[_Index] | None:
    """The indices of the data, without axes of a single element; None if one has another form."""
    indices = []
    simplify = simplifier(r.loops, r.inner)
    for place, (i, size) in enumerate(zip(data.indices, data.source.shape)):
        terms, shift = simplify.linear(i)
        if not terms:
            continue
        group = _group(terms, r)
        if group is not None:
            terms = {e: step for e, step in terms.items() if isinstance(e, Var)}
        of, taps = ([x for x in loops if x[0] in terms] for loops in (r.loops, r.inner))
        if len(of) + len(taps) != len(terms) or len(of) > 1 or len(taps) > 1 or min(terms.values()) < 1:
            return None
        stride, dilation = (as_integer(terms[x[0][0]]) if x else 0 for x in (of, taps))
        result, tap = (x[0] if x else None for x in (of, taps))
        indices.append(_Index(place, result, stride, tap, dilation, as_integer(shift), size, group))
    return indices


def _matched(r: Reduction, data: Load, weights: Load, guards: Sequence[Expr], copies: int) -> Convolution | None:
    """The reduction as a convolution of the data without padding; elements exist if the guards are at least 0.

    Among the window axes, the last two are rows and columns; a single one is columns. The channels are the innermost other axis
    of the sum; one more axis may be that of slices.
    """
    taps = {w.tap for w in r.windows}
    indices = _indices(r, data) or []
    windows = [i for i in indices if i.is_window and i.tap is not None and i.tap[0] in taps][-2:]
    summed = [i for i in indices if i.is_variable and i.tap is not None and i.tap[0] not in taps]
    if not windows or not summed:
        return None
    channels = summed[-1]
    variables = [i for i in indices if i.is_variable and i.of is not None]
    others = [i for i in indices if i not in (channels, *variables, *windows)]
    if len(others) > 1 or any(i.group is not None for i in (indices if others else {*indices} - {channels})):
        return None
    slices = others[0] if others else None
    images = [i.of for i in indices if i in (*variables, *others) and i.of is not None]
    sums = [i.tap for i in (*others, channels, *windows) if i.tap is not None]
    results = [v for v, _ in (*images, *(i.of for i in windows if i.of is not None))]
    filters = [x for x in r.loops if x[0] not in {*results}]
    if (
        len(filters) != 1
        or len({*results}) != len(results)
        or len({v for v, _ in sums}) != len(sums)
        or len(r.inner) != len(sums)
    ):
        return None
    order = _order(weights, [filters[0], *sums])
    assert channels.tap is not None
    if order is None or (channels.group is not None and channels.group[0] is not filters[0][0]):
        return None
    groups = filters[0][1] // channels.group[1] if channels.group is not None else 1
    simplify = simplifier(r.loops, r.inner)
    own: dict[int, Expr] = {channels.place: channels.tap[0]}
    axes: list[SpatialAxis] = []
    for i in windows:
        axis, guards = _bounded(i.spatial, data.indices[i.place], guards, simplify)
        own[i.place] = axis.of
        axes.append(axis)
    depth = None
    if slices is not None:
        depth, guards = _bounded(slices.depth, data.indices[slices.place], guards, simplify)
        depth = depth.trimmed()
        own[slices.place] = depth.slice
    if guards:
        return None  # some guards depend on other axes
    return Convolution(
        r,
        copies,
        Load(data.source, tuple(own.get(n, i) for n, i in enumerate(data.indices))),
        tuple(images),
        filters[0],
        (channels.tap[0], channels.tap[1] * groups),
        depth,
        axes[0] if len(axes) > 1 else no_rows(),
        axes[-1],
        weights.source,
        order,
        groups,
    )


def _bounded(axis: AnyAxis, index: Expr, guards: Sequence[Expr], simplify: Simplifier) -> tuple[AnyAxis, list[Expr]]:
    """The axis with the elements for which the guards on it alone hold, and the other guards."""
    first, last, others = existing_elements(index, axis.last + 1, guards, simplify)
    return replace(axis, first=max(axis.first, first), last=last), others


def _order(weights: Load, order: Sequence[Loop]) -> tuple[int, ...] | None:
    """The axes of weights in the order of the given loops; axes of a single element come second."""
    axes_of = {i: n for n, i in enumerate(weights.indices) if isinstance(i, Var)}
    if {*axes_of} != {v for v, _ in order} or any(weights.source.shape[axes_of[v]] != n for v, n in order):
        return None
    single = [n for n, i in enumerate(weights.indices) if not isinstance(i, Var)]
    if any(weights.source.shape[n] != 1 for n in single) or len(axes_of) + len(single) != len(weights.indices):
        return None
    first, *others = (axes_of[v] for v, _ in order)
    return (first, *single, *others)
