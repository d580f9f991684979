"""Layouts of elementwise and broadcasting operators: any, as long as the inputs agree."""

from __future__ import annotations

from ...ir import TensorType, TupleType
from ...ops.layout import Layout, LayoutAxis
from .inference import CHANNEL, Layouts, LayoutSite, MaybeLayout, first_known, layout_rule, shared_layout_rule


@shared_layout_rule("elementwise")
def elementwise(s: LayoutSite) -> Layouts:
    """The layout that comes in; of an annotated tuple, that of each field."""
    if len(s.types) == 1 and isinstance(s.types[0], TupleType):
        each = s.old if s.new is None else s.new
        return Layouts(each, each, s.attrs)
    layout = s.new[0] if s.new is not None else first_known(s.old)
    return Layouts((layout,) * len(s.old), (layout,), s.attrs)


@layout_rule("nn.dropout")
def dropout(s: LayoutSite) -> Layouts:
    """The layout that comes in, for the mask as well."""
    layouts = elementwise(s)
    return Layouts(layouts.inputs, layouts.outputs * 2, s.attrs)


@shared_layout_rule("broadcast")
def broadcast(s: LayoutSite) -> Layouts:
    """The smaller operand is changed as the larger one was, so that they still broadcast."""
    inputs, output = broadcast_layouts(s)
    return Layouts(inputs, (output,), s.attrs)


@layout_rule("qnn.add", "qnn.mul", "qnn.subtract")
def quantized_broadcast(s: LayoutSite) -> Layouts:
    """As their float forms; scales and zero points are vectors."""
    pair = LayoutSite(s.attrs, s.old[:2], None if s.new is None else s.new[:2], s.types[:2])
    inputs, output = broadcast_layouts(pair)
    return Layouts((*inputs, *(CHANNEL,) * 6), (output,), s.attrs)


def broadcast_layouts(s: LayoutSite) -> tuple[tuple[MaybeLayout, ...], MaybeLayout]:
    """Layouts of two operands and of the result; all None if that cannot be said."""
    nothing: tuple[tuple[MaybeLayout, ...], MaybeLayout] = ((None, None), None)
    shapes = [t.shape for t in s.types[:2] if isinstance(t, TensorType)]
    if len(shapes) < 2:
        return nothing
    layouts = list(s.old)
    larger = 0 if len(shapes[0]) >= len(shapes[1]) else 1
    if layouts[0] is None and layouts[1] is None:
        result = nothing
    elif layouts[0] is None or layouts[1] is None:
        source = 0 if layouts[0] is not None else 1
        other = 1 - source
        known = layouts[source]
        assert known is not None
        if len(shapes[source]) >= len(shapes[other]):
            layouts[other] = known.slice(len(shapes[source]) - len(shapes[other]), len(shapes[other]))
            result = (tuple(layouts), known)
        else:
            result = nothing
    else:
        result = (tuple(layouts), layouts[larger])
    if s.new is None:
        return result
    new = s.new
    if new[0] is None or new[1] is None or layouts[0] is None or layouts[1] is None:
        return nothing
    large = 0 if len(new[0].primals) >= len(new[1].primals) else 1
    small = 1 - large
    old_small, old_large, new_large = layouts[small], layouts[large], new[large]
    assert old_small is not None and old_large is not None and new_large is not None
    target = transform_like(old_small, old_large, new_large)
    if target is None:
        return nothing
    layouts[large] = new_large
    layouts[small] = adjust_factors(target, old_small, shapes[small])
    return tuple(layouts), new[larger]


def transform_like(old: Layout, ref_old: Layout, ref_new: Layout) -> Layout | None:
    """`old` changed as `ref_old` was into `ref_new`, axes matched from the right; None if it cannot be."""
    large, small = (ref_old, old) if len(ref_old) > len(old) else (old, ref_old)
    head, tail = large.slice(0, len(large) - len(small)), large.slice(len(large) - len(small), len(small))
    if any(a.primal in tail or a.primal.lower() in tail for a in head.axes) or not isomorphic(tail, small):
        return None
    if not old.axes:
        return old
    names: dict[str, str] = {}
    used: set[str] = set()
    for mine, ref in zip(reversed(old.axes), reversed(ref_old.axes)):
        names[ref.primal] = mine.primal
        used.add(mine.primal)
    for ref in reversed(ref_old.axes):
        if ref.primal not in names:
            free = [ref.primal, *(chr(c) for c in range(ord("A"), ord("Z") + 1))]
            names[ref.primal] = next(c for c in free if c not in used)
            used.add(names[ref.primal])
    renamed = []
    for a in ref_new.axes:
        letter = names[a.primal]
        renamed.append(LayoutAxis(letter if a.is_primal else letter.lower(), a.factor))
    return Layout(tuple(renamed))


def isomorphic(a: Layout, b: Layout) -> bool:
    """True if two layouts are equal up to the names of axes; parts of one axis answer to parts of one axis."""
    if len(a) != len(b):
        return False
    forward: dict[str, str] = {}
    back: dict[str, str] = {}
    for x, y in zip(a.axes, b.axes, strict=True):
        if x.is_primal != y.is_primal:
            return False
        if forward.setdefault(x.primal, y.primal) != y.primal or back.setdefault(y.primal, x.primal) != x.primal:
            return False
        if not x.is_primal and a.factor(x.letter) != b.factor(y.letter):
            return False
    return True


def adjust_factors(layout: Layout, old: Layout, shape: tuple[object, ...]) -> Layout:
    """`layout` with inner extents of 1 for axes that broadcast, because they are absent or 1 in the old shape."""
    axes = []
    for a in layout.axes:
        factor = a.factor
        if not a.is_primal:
            primal_axis = old.index(a.primal)
            if primal_axis == -1 or (shape[primal_axis] == 1 and a.letter not in old):
                factor = 1
            else:
                factor = layout.factor(a.primal)
        axes.append(LayoutAxis(a.letter, factor))
    return Layout(tuple(axes))
