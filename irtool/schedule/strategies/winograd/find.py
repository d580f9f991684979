"""Reductions that are convolutions with a Winograd transform."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache

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
"""Elements of a window along an axis, of those that one result of every `stride` shares: tiles of larger ones need more points, which
cost digits."""

_TAPS_OF_PART = 3
"""Elements of each part that a larger window is made of: of those that tiles of four results have points for, the most for a product."""


def convolutions_of(s: RunKernel) -> tuple[Convolution, ...]:
    """The stages of a call that are convolutions with constants for weights; the same ones each time, for all calls of a kernel."""
    return _convolutions_of(s.kernel, tuple(constant_inputs([s])))


@lru_cache(maxsize=64)
def _convolutions_of(k: Kernel, constants: tuple[Buffer, ...]) -> tuple[Convolution, ...]:
    convolutions = (find_convolution(k.stages, at, constants) for at in range(len(k.stages)))
    return tuple(c for c in convolutions if c is not None)


def find_convolution(forms: Sequence[AnyForm], at: int, inputs: Sequence[Buffer]) -> Convolution | None:
    """The stage as a convolution whose weights are among the kernel's inputs; None if it is none."""
    r = forms[at]
    if not isinstance(r, Reduction) or not r.windows:
        return None
    opened = without_padded_copy(forms, at, plain=True)
    # What multiplies padding in a copy is finite wherever a convolution is transformed: its weights are asked.
    guarded = extract_predicates(opened, formed=True) if opened is not None else None
    convolution = _convolution(guarded, inputs, 1) if guarded is not None else None
    guarded = extract_predicates(r)
    return convolution or (_convolution(guarded, inputs, 0) if not guarded.formed else None)


def _convolution(r: Reduction, inputs: Sequence[Buffer], copies: int) -> Convolution | None:
    """A reduction with guards as a convolution; `copies` of the data before it are not needed."""
    sum_of_all = replace(r, guards=(), formed=False)
    product = sum_of_products(sum_of_all)
    pairs = product.with_weights(inputs) if product is not None and r.acc.dtype == "float32" else ()
    return next((c for pair in pairs if (c := _matched(sum_of_all, *pair, r.guards, copies)) is not None), None)


@dataclass(frozen=True)
class _Index:
    """An index of the data, `of * stride + tap * dilation + shift`, of which one of the two variables may be absent. `group`: to this
    is added the first channel of the group that a filter belongs to: that variable, and how many filters a group has."""

    place: int
    of: Var | None
    stride: int
    tap: Var | None
    dilation: int
    shift: int
    size: int
    group: Loop | None = None

    def is_window(self, extents: dict[Var, int]) -> bool:
        """True for a row or a column of windows that can be transformed."""
        if self.of is None or self.tap is None:
            return False
        taps = extents[self.tap]
        if not self.stride < taps or min(self.stride, self.dilation) > 1:
            return False
        if self._is_long(taps) and self.stride > 1:
            return False
        return (taps - 1) * self.dilation < self.size

    def _is_long(self, taps: int) -> bool:
        """True for a window of so many elements that it is made of parts."""
        return taps > _MOST_TAPS * self.stride

    @property
    def is_variable(self) -> bool:
        """True if the index is a loop's variable."""
        return self.shift == 0 and (self.stride, self.dilation) in ((1, 0), (0, 1))

    def spatial(self, extents: dict[Var, int]) -> SpatialAxis:
        """The axis of rows or columns."""
        assert self.of is not None and self.tap is not None
        taps, parts = extents[self.tap], 1
        if self._is_long(taps):
            taps, parts = _TAPS_OF_PART, -(-taps // _TAPS_OF_PART)
        return SpatialAxis(
            self.shift, 0, self.size - 1, self.of, extents[self.of], taps, self.dilation, self.stride, parts
        )

    def depth(self, extents: dict[Var, int]) -> DepthAxis:
        """The axis of slices."""
        results = extents[self.of] if self.of is not None else 1
        taps = extents[self.tap] if self.tap is not None else 1
        return DepthAxis(self.shift, 0, self.size - 1, self.of, results, Var("slice"), taps, self.stride, self.dilation)


def _group(terms: Mapping[Expr, float], r: Reduction) -> Loop | None:
    """The variable whose groups of so many steps have channels of their own, in `v // n * channels + channel`."""
    extents = dict((*r.loops, *r.inner))
    quotients = [e for e in terms if not isinstance(e, Var)]
    channels = [v for v, _ in r.inner if terms.get(v) == 1]
    if len(quotients) != 1 or len(channels) != 1 or len(terms) != 2:
        return None
    quotient, count = quotients[0], extents[channels[0]]
    if not isinstance(quotient, Binary) or quotient.op != "floordiv" or terms[quotient] != count:
        return None
    v, n = quotient.a, quotient.b
    if not isinstance(v, Var) or not isinstance(n, Const) or v not in dict(r.loops) or extents[v] % n.value:
        return None
    return v, int(n.value)


@dataclass(frozen=True)
class _Axes:
    """What the indices of the data are; there may be columns without rows."""

    rows: _Index | None
    columns: _Index
    depth: _Index | None
    channel: _Index
    images: tuple[Var, ...]

    @property
    def steps(self) -> list[Var]:
        """Loops of the sum: taps along depth, channels, rows and columns."""
        before, rows, columns = (i.tap if i is not None else None for i in (self.depth, self.rows, self.columns))
        return [v for v in (before, self.channel.tap, rows, columns) if v is not None]


def _indices(r: Reduction, data: Load) -> list[_Index] | None:
    """The indices of the data but those of a single element; None if one has another form."""
    found = []
    simplify = simplifier(r.loops, r.inner)
    for place, (i, size) in enumerate(zip(data.indices, data.source.shape)):
        terms, shift = simplify.linear(i)
        if not terms:
            continue
        group = _group(terms, r)
        if group is not None:
            terms = {e: step for e, step in terms.items() if isinstance(e, Var)}
        of = [v for v, _ in r.loops if v in terms]
        taps = [v for v, _ in r.inner if v in terms]
        if len(of) + len(taps) != len(terms) or len(of) > 1 or len(taps) > 1 or min(terms.values()) < 1:
            return None
        found.append(
            _Index(
                place,
                of[0] if of else None,
                int(terms[of[0]]) if of else 0,
                taps[0] if taps else None,
                int(terms[taps[0]]) if taps else 0,
                int(shift),
                size,
                group,
            )
        )
    return found


def _axes(indices: Sequence[_Index], taps: Set[Var], extents: dict[Var, int]) -> _Axes | None:
    """What the indices are: of windows that can be transformed, the last two are those of rows and columns, a single one that of
    columns. `taps`: the axes of the sum that run over windows; of the others, the channels are the one that lies innermost."""
    windows = [i for i in indices if i.tap in taps and i.is_window(extents)][-2:]
    channels = next((i for i in reversed(indices) if i.is_variable and i.tap is not None and i.tap not in taps), None)
    if not windows or channels is None:
        return None
    images = [i for i in indices if i.is_variable and i.of is not None]
    named = {i.place for i in (channels, *images, *windows)}
    others = [i for i in indices if i.place not in named]
    if len(others) > 1:
        return None
    if any(i.group is not None for i in indices if i is not channels) or (others and channels.group is not None):
        return None
    of = sorted([*images, *(i for i in others if i.of is not None)], key=lambda i: i.place)
    depth = others[0] if others else None
    rows = windows[0] if len(windows) > 1 else None
    return _Axes(rows, windows[-1], depth, channels, tuple(i.of for i in of if i.of is not None))


def _matched(r: Reduction, data: Load, weights: Load, guards: Sequence[Expr], copies: int) -> Convolution | None:
    """The reduction as a convolution of the data as it is, of which those elements exist for which guards are at least 0."""
    extents = dict((*r.loops, *r.inner))
    indices = _indices(r, data)
    axes = _axes(indices, {w.tap for w in r.windows}, extents) if indices is not None else None
    if axes is None:
        return None
    rows = axes.rows.spatial(extents) if axes.rows is not None else no_rows()
    columns = axes.columns.spatial(extents)
    results, steps = [rows.of, columns.of, *axes.images], axes.steps
    filters = [v for v, _ in r.loops if v not in {*results}]
    if (
        len(filters) != 1
        or len({*results}) != len(results)
        or len(r.inner) != len({*steps})
        or len(steps) != len({*steps})
    ):
        return None
    order = _order(weights, [filters[0], *steps], extents)
    channel = axes.channel
    assert channel.tap is not None
    if order is None or (channel.group is not None and channel.group[0] is not filters[0]):
        return None
    groups = extents[filters[0]] // channel.group[1] if channel.group is not None else 1
    simplify = simplifier(r.loops, r.inner)
    own: dict[int, Expr] = {axes.columns.place: columns.of, channel.place: channel.tap}
    columns, left = _bounded(columns, data.indices[axes.columns.place], guards, simplify)
    if axes.rows is not None:
        own[axes.rows.place] = rows.of
        rows, left = _bounded(rows, data.indices[axes.rows.place], left, simplify)
    depth = None
    if axes.depth is not None:
        depth, left = _bounded(axes.depth.depth(extents), data.indices[axes.depth.place], left, simplify)
        depth = depth.trimmed()
        own[axes.depth.place] = depth.slice
    if left:
        return None  # some guards are about other axes

    def loop(v: Var) -> Loop:
        return v, extents[v]

    return Convolution(
        r,
        copies,
        Load(data.source, tuple(own.get(n, i) for n, i in enumerate(data.indices))),
        tuple(map(loop, axes.images)),
        loop(filters[0]),
        (channel.tap, extents[channel.tap] * groups),
        depth,
        rows,
        columns,
        weights.source,
        order,
        groups,
    )


def _bounded(axis: AnyAxis, index: Expr, guards: Sequence[Expr], simplify: Simplifier) -> tuple[AnyAxis, list[Expr]]:
    """The axis with the elements for which those guards hold that are about it alone, and the other guards."""
    first, last, others = existing_elements(index, axis.last + 1, guards, simplify)
    return replace(axis, first=max(axis.first, first), last=last), others


def _order(weights: Load, wanted: Sequence[Var], extents: dict[Var, int]) -> tuple[int, ...] | None:
    """The axes of weights, those that are read with the wanted variables in that order; axes of a single element come second."""
    places = {i: n for n, i in enumerate(weights.indices) if isinstance(i, Var)}
    if {*places} != {*wanted} or any(weights.source.shape[n] != extents[v] for v, n in places.items()):
        return None
    single = [n for n, i in enumerate(weights.indices) if not isinstance(i, Var)]
    if any(weights.source.shape[n] != 1 for n in single) or len(places) + len(single) != len(weights.indices):
        return None
    first, *others = (places[v] for v in wanted)
    return (first, *single, *others)
