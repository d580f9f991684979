"""Which reductions are convolutions that can be transformed: 3 x 3 windows, one step apart, sums in float32 over all channels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...tir.expr import Binary, Cast, Const, Expr, Load, Select, Var, substitute
from ...tir.forms import AnyForm, Map, Reduction, buffers_read
from ...tir.simplify import Simplifier
from ...tir.stmt import Buffer, Scope
from ..affine import depends, factors, loads, simplifier
from ..constant_factors import factors_with_weights

TAPS = 3

_HALVES = ("bfloat16", "float16")
"""Dtypes of operands that are widened to float32, element by element."""


@dataclass(frozen=True)
class SpatialAxis:
    """A spatial axis: result `of` (so many) sums the elements `of + shift` to `of + shift + 2` of the data, of which those from
    `first` to `last` exist; the others are zeros."""

    of: Var
    extent: int
    shift: int
    first: int
    last: int


@dataclass(frozen=True)
class Convolution:
    """A reduction as a convolution.

    Attributes:
        form: the reduction. Its stores are what is made of results.
        copies: how many stages before it, 1 or 0, are a padded copy that is not needed.
        data: what is read, at an element that stands for (image, channel, row, column) = `image`, `channel`, the axes' `of`.
        image: the axis of images and how many there are; None where there is one.
        filters: the axis of output channels, and how many there are.
        channel: the axis of input channels, and how many there are.
        rows, columns: the spatial axes.
        weights: the buffer of the weights; `order` says which of its axes are filters, channels, rows and columns.
    """

    form: Reduction
    copies: int
    data: Load
    image: tuple[Var, int] | None
    filters: tuple[Var, int]
    channel: tuple[Var, int]
    rows: SpatialAxis
    columns: SpatialAxis
    weights: Buffer
    order: tuple[int, int, int, int]

    @property
    def images(self) -> int:
        """Images of a batch."""
        return self.image[1] if self.image is not None else 1

    @property
    def updates(self) -> int:
        """Multiply-adds of the sum as it is written."""
        return self.form.work


def find_convolution(forms: Sequence[AnyForm], at: int, inputs: Sequence[Buffer]) -> Convolution | None:
    """The stage as a convolution whose weights are among the kernel's inputs; None if it is none."""
    r = forms[at]
    if not isinstance(r, Reduction) or len(r.inner) != 3:
        return None
    for data, weights in factors_with_weights(r, _factors(r), inputs):
        convolution = _matched(r, data, weights)
        if convolution is not None:
            return _opened(convolution, forms, at)
    return None


def _factors(r: Reduction) -> tuple[Load, Load] | None:
    """The two elements of which an update adds the product."""
    operands = factors(r)
    if operands is None:
        return None
    a, b = (x.value if isinstance(x, Cast) and x.value.dtype in _HALVES else x for x in operands)
    if not (
        isinstance(a, Load) and isinstance(b, Load) and isinstance(a.source, Buffer) and isinstance(b.source, Buffer)
    ):
        return None
    return a, b


def _matched(r: Reduction, data: Load, weights: Load) -> Convolution | None:
    """The reduction as a convolution of the data as it is."""
    taps = [v for v, n in r.inner if n == TAPS]
    extents: dict[Expr, int] = dict((*r.loops, *r.inner))
    simplify = simplifier(r.loops, r.inner)
    spatial: list[tuple[SpatialAxis, Var, int]] = []
    rest: list[Var] = []
    for place, i in enumerate(data.indices):
        terms, shift = simplify.linear(i)
        moving = [v for v in taps if v in terms]
        if not terms and not shift and data.source.shape[place] == 1:
            continue
        if len(terms) == 1 and isinstance(i, Var):
            rest.append(i)
        elif len(terms) == 2 and len(moving) == 1 and set(terms.values()) == {1}:
            (y,) = (v for v in terms if v is not moving[0])
            if not isinstance(y, Var) or not any(y is v for v, _ in r.loops):
                return None
            axis = SpatialAxis(y, extents[y], int(shift), 0, data.source.shape[place] - 1)
            spatial.append((axis, moving[0], place))
        else:
            return None
    if len(spatial) != 2 or any(not isinstance(i, Var) for i in weights.indices) or len(weights.indices) != 4:
        return None
    (rows, k0, _), (columns, k1, _) = spatial
    channels = [v for v in rest if any(v is x for x, _ in r.inner)]
    images = [v for v in rest if any(v is x for x, _ in r.loops)]
    used = {rows.of, columns.of, *images}
    filters = [v for v, _ in r.loops if v not in used]
    if len(channels) != 1 or len(images) > 1 or len(filters) != 1 or len({k0, k1, channels[0]}) != 3:
        return None
    wanted = (filters[0], channels[0], k0, k1)
    if {*weights.indices} != {*wanted} or weights.source.shape != tuple(extents[i] for i in weights.indices):
        return None
    order = tuple(next(n for n, i in enumerate(weights.indices) if i is v) for v in wanted)
    image = (images[0], extents[images[0]]) if images else None
    own: dict[int, Expr] = {n: axis.of for axis, _, n in spatial}
    indices = tuple(own.get(n, i) for n, i in enumerate(data.indices))
    return Convolution(
        r,
        0,
        Load(data.source, indices),
        image,
        (filters[0], extents[filters[0]]),
        (channels[0], extents[channels[0]]),
        rows,
        columns,
        weights.source,
        (order[0], order[1], order[2], order[3]),
    )


def _opened(c: Convolution, forms: Sequence[AnyForm], at: int) -> Convolution:
    """The convolution of what a padded copy before it is made of, if nothing else reads that; itself otherwise."""
    copy = forms[at - 1] if at else None
    b = c.data.source
    if not isinstance(copy, Map) or len(copy.stores) != 1 or copy.stores[0].buffer is not b or b.scope != Scope.GLOBAL:
        return c
    if sum(b in buffers_read(f) for f in forms) != 1 or any(
        e.source is b for s in c.form.stores for e in loads(s.value)
    ):
        return c
    store = copy.stores[0]
    value = store.value
    conditions: list[Expr] = []
    if isinstance(value, Select):
        if not isinstance(value.other, Const) or value.other.value or not value.lazy:
            return c
        conditions, value = _conjuncts(value.cond), value.then
    if not isinstance(value, Load) or not isinstance(value.source, Buffer) or value.source.dtype != b.dtype:
        return c
    axes: list[SpatialAxis] = []
    place: dict[Expr, Expr] = {}
    for i, own in zip(store.indices, c.data.indices):
        if isinstance(i, Var):
            place[i] = own
        elif not isinstance(i, Const) or not isinstance(own, Const):
            return c
    for axis in (c.rows, c.columns):
        (v,) = [v for v, x in place.items() if x is axis.of]
        opened = _unpadded(axis, v, value, [e for e in conditions if depends(e, v)])  # type: ignore[arg-type]  # places are those of variables
        if opened is None:
            return c
        axes.append(opened)
        conditions = [e for e in conditions if not depends(e, v)]  # type: ignore[arg-type]  # as above
    if conditions:
        return c
    simplify = Simplifier({})
    indices = []
    for i in value.indices:
        inside = [a for a in (c.rows, c.columns) if any(depends(i, v) for v, x in place.items() if x is a.of)]  # type: ignore[arg-type]  # as above
        indices.append(inside[0].of if inside else simplify(substitute(i, place)))
    rows, columns = axes
    return replace(c, copies=1, data=Load(value.source, tuple(indices)), rows=rows, columns=columns)


def _unpadded(axis: SpatialAxis, v: Var, value: Load, conditions: Sequence[Expr]) -> SpatialAxis | None:
    """The axis in what is copied, whose element `v + c` is at `v` in the copy; None where that, or what exists, is not so."""
    simplify = Simplifier({})
    moving = [n for n, i in enumerate(value.indices) if depends(i, v)]
    if len(moving) != 1:
        return None
    terms, offset = simplify.linear(value.indices[moving[0]])
    if len(terms) != 1 or set(terms.values()) != {1}:
        return None
    first, last = axis.first, axis.last
    for e in conditions:
        limit = _limit(e, v)
        if limit is None:
            return None
        first, last = max(first, limit[0]), min(last, limit[1])
    moved = int(offset)
    return SpatialAxis(axis.of, axis.extent, axis.shift + moved, first + moved, last + moved)


_FAR = 1 << 40


def _limit(e: Expr, v: Var) -> tuple[int, int] | None:
    """The values of `v` for which a comparison with a number holds, first and last."""
    if not isinstance(e, Binary) or e.op not in ("<", "<="):
        return None
    strict = int(e.op == "<")
    simplify = Simplifier({})
    terms, offset = simplify.linear(e.b - e.a)
    if len(terms) != 1:
        return None
    # v * k + offset >= strict
    k = terms.get(v)
    if k == 1:
        return strict - int(offset), _FAR
    return (-_FAR, int(offset) - strict) if k == -1 else None


def _conjuncts(e: Expr) -> list[Expr]:
    exprs: list[Expr] = []
    stack = [e]
    while stack:
        x = stack.pop()
        if isinstance(x, Binary) and x.op == "and":
            stack += [x.b, x.a]
        else:
            exprs.append(x)
    return exprs
