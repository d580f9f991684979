"""Layouts of operators that move, join or reduce axes: the axes of their attributes move along."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir import TensorType, TupleType
from ...ops.layout import Layout, LayoutAxis, LayoutError
from .elementwise import adjust_factors
from .inference import CHANNEL, Layouts, LayoutSite, MaybeLayout, first_known, layout_rule, unknown


@layout_rule("concatenate")
def concatenate(s: LayoutSite) -> Layouts:
    """The layout that comes in, if it is the same for all; the axis moves along."""
    axis = s.axis(s.attrs.axis)
    if s.new is not None and s.old[0] is not None and s.new[0] is not None and len(set(s.new)) == 1:
        layout: MaybeLayout = s.new[0]
        attrs = s.replaced(axis=s.new[0].index(s.old[0].axes[axis].letter))
    else:
        layout, attrs = first_known(s.old), s.attrs
        if layout is None or len(layout) <= axis or not layout.axes[axis].is_primal:
            return Layouts((None,) * len(s.old), (None,), s.attrs)
    return Layouts((layout,) * len(s.old), (layout,), attrs)


@layout_rule("qnn.concatenate")
def quantized_concatenate(s: LayoutSite) -> Layouts:
    """As concatenate; scales and zero points are vectors."""
    pieces = s.types[0]
    assert isinstance(pieces, TupleType)
    count = len(pieces.fields)
    layouts = concatenate(LayoutSite(s.attrs, s.old[:count], None if s.new is None else s.new[:count], s.types[:1]))
    return Layouts((*layouts.inputs, *(CHANNEL,) * (2 * count + 2)), layouts.outputs, layouts.attrs)


@layout_rule("split")
def split(s: LayoutSite) -> Layouts:
    """Any; the axis moves along, if the cuts are between the blocks of a split one."""
    sections = s.attrs.indices_or_sections
    count = int(sections) if isinstance(sections, int) else len(sections) + 1
    stays = Layouts((s.old[0],), (s.old[0],) * count, s.attrs)
    if s.moved is None:
        return stays
    old, new = s.moved
    letter = old.axes[s.axis(s.attrs.axis)].letter
    axis = new.index(letter)
    if s.is_split(s.attrs.axis):
        factor, extent = new.factor(letter), s.shape()[s.axis(s.attrs.axis)]
        cuts = sections if not isinstance(sections, int) else (extent // count,) if isinstance(extent, int) else (1,)
        if any(c % factor for c in cuts):
            return stays
        if not isinstance(sections, int):
            sections = tuple(c // factor for c in cuts)
    return Layouts((new,), (new,) * count, s.replaced(axis=axis, indices_or_sections=sections))


@layout_rule("topk")
def topk(s: LayoutSite) -> Layouts:
    """Any that does not split the axis, which moves along."""
    if s.moved is None or s.is_split(s.attrs.axis):
        return Layouts((s.old[0],), (s.old[0],) * 2, s.attrs)
    old, new = s.moved
    return Layouts((new,), (new,) * 2, s.replaced(axis=new.index(old.axes[s.axis(s.attrs.axis)].letter)))


@layout_rule("transpose")
def transpose(s: LayoutSite) -> Layouts:
    """The permutation is expressed in the layout that comes in, where every axis is found in it."""
    old = s.old[0]
    if old is None:
        return unknown(s)
    axes = tuple(a % len(old) for a in s.attrs.axes) if s.attrs.axes else tuple(reversed(range(len(old))))
    layout = old
    if s.moved is not None:
        new = s.moved[1]
        moved = tuple(new.index(old.axes[a].letter) for a in axes)
        if -1 not in moved and len(moved) == len(new):
            axes, layout = moved, new
    try:
        out = Layout.parse(Layout(tuple(layout.axes[a] for a in axes)).name)
    except (LayoutError, IndexError):
        return unknown(s)
    return Layouts((layout,), (out,), s.replaced(axes=axes))


@layout_rule("squeeze")
def squeeze(s: LayoutSite) -> Layouts:
    """The axes that go move along."""
    layout = s.new[0] if s.new is not None else s.old[0]
    if layout is None:
        return unknown(s)
    axes: Sequence[int] = s.attrs.axis if s.attrs.axis is not None else [i for i, d in enumerate(s.shape()) if d == 1]
    attrs = s.attrs
    if s.moved is not None:
        old, new = s.moved
        axes = tuple(new.index(old.axes[a].letter) for a in axes)
        attrs = s.replaced(axis=axes)
    squeezed = {a % len(layout) for a in axes}
    return Layouts((layout,), (Layout(tuple(a for i, a in enumerate(layout.axes) if i not in squeezed)),), attrs)


@layout_rule("slice_like")
def slice_like(s: LayoutSite) -> Layouts:
    """Any, if both inputs came in the same one; the axes move along."""
    if s.new is not None and s.moved is not None and s.new[0] == s.new[1] and s.old[0] == s.old[1]:
        old, new = s.moved
        axes = tuple(new.index(old.axes[a].letter) for a in s.attrs.axes or ())
        if axes and -1 not in axes:
            return Layouts((new, new), (new,), s.replaced(axes=axes))
    return Layouts(s.old, (s.old[1],), s.attrs)


@layout_rule("sum", "all", "any", "max", "min", "mean", "prod", "argmax", "argmin", "variance")
def reduce(s: LayoutSite) -> Layouts:
    """Reduced axes move along, split ones with both of their parts."""
    op_attrs = s.attrs
    layout = s.old[0] if s.new is None else s.new[0]
    old = s.old[0]
    if layout is None or old is None:
        return unknown(s)
    rank = len(s.shape())
    axes = [a % rank for a in op_attrs.axis] if op_attrs.axis is not None else list(range(rank))
    exclude = op_attrs.exclude and op_attrs.axis is not None
    reduced = {old.axes[a].letter for a in axes}
    if exclude:
        reduced = {a.letter for a in old.axes} - reduced
    new_axes, remaining = [], []
    for i, a in enumerate(layout.axes):
        if a.primal in reduced:
            new_axes.append(i)
            if op_attrs.keepdims:
                remaining.append(a if a.is_primal else LayoutAxis(a.letter, 1))
        else:
            remaining.append(a)
    if not remaining:
        return unknown(s)  # a scalar has no layout
    attrs = op_attrs
    if s.new is not None and axes:
        if exclude:
            new_axes = [i for i in range(len(layout)) if i not in new_axes]
        attrs = s.replaced(axis=tuple(new_axes))
    # A mean that comes with the data (of a variance) may be broadcast along some axes.
    rest = [adjust_factors(layout, old, t.shape) for t in s.types[1:] if isinstance(t, TensorType)]
    return Layouts((layout, *rest), (Layout(tuple(remaining)),), attrs)


@layout_rule("strided_slice")
def strided_slice(s: LayoutSite) -> Layouts:
    """Begin, end and strides move along; a split axis can be sliced at multiples of its factor only."""
    layout = s.old[0]
    if layout is None or s.new is None or s.new[0] is None:
        return Layouts((layout,), (layout,), s.attrs)
    new = s.new[0]
    renamed = not layout.name.startswith(new.name) and not new.name.startswith(layout.name)
    if renamed:
        attrs = _permuted(s, layout, new) if len(layout.name) == len(new.name) else None
        return unknown(s) if attrs is None else Layouts((new,), (new,), attrs)
    if len(layout) < len(new):
        attrs = _divided(s, layout, new)
        return unknown(s) if attrs is None else Layouts((new,), (new,), attrs)
    return Layouts((layout,), (layout,), s.attrs)


def _permuted(s: LayoutSite, old: Layout, new: Layout) -> Any:
    """The slice after its axes changed places."""
    attrs = s.attrs
    begin, end = list(attrs.begin or ()), list(attrs.end or ())
    strides = [1 if attrs.slice_mode == "size" else v for v in attrs.strides or ()]
    if attrs.axes is not None:
        return s.replaced(axes=tuple(new.index(old.axes[a].letter) for a in attrs.axes), strides=tuple(strides))
    moved: list[tuple[int, int, int]] = []
    for a in new.axes:
        i = old.index(a.letter)
        if i == -1:
            return None
        first = begin[i] if i < len(begin) else 0
        last = end[i] if i < len(end) else s.shape()[i]
        moved.append((first, last, strides[i] if i < len(strides) else 1))
    columns = zip(*moved, strict=True)
    return s.replaced(**dict(zip(("begin", "end", "strides"), map(tuple, columns), strict=True)))


def _divided(s: LayoutSite, old: Layout, new: Layout) -> Any:
    """The slice after some of its axes were split."""
    attrs = s.attrs
    begin, end, strides = list(attrs.begin or ()), list(attrs.end or ()), list(attrs.strides or ())
    axes = attrs.axes if attrs.axes is not None else range(len(begin))
    new_begin, new_end = [], []
    for i, axis in enumerate(axes):
        factor = new.factor(old.axes[axis].letter)
        first, last = begin[i], end[i]
        if factor == -1:
            new_begin.append(first)
            new_end.append(last)
            continue
        if i < len(strides) and strides[i] != 1:
            return None
        if attrs.axes is None and attrs.slice_mode == "size":
            last = s.shape()[axis] if last < 0 else first + last
        if first % factor or last % factor:
            return None
        new_begin.append(first // factor)
        new_end.append(last // factor)
    changes: dict[str, Any] = {"begin": tuple(new_begin), "end": tuple(new_end)}
    if attrs.axes is not None:
        changes["axes"] = tuple(new.index(old.axes[a].letter) for a in attrs.axes)
    return s.replaced(**changes)
