"""Layouts of convolutions, pooling, normalisation and other layers: their attributes name them."""

from __future__ import annotations

from ...ops.layout import Layout, LayoutError
from .inference import CHANNEL, Layouts, LayoutSite, MaybeLayout, layout_rule, shared_layout_rule, unknown

parse = Layout.parse


@shared_layout_rule("convolution")
def convolution(s: LayoutSite) -> Layouts:
    """The layouts of the attributes: other operators are made to fit convolutions, not the other way round."""
    attrs = s.attrs
    result = (
        getattr(attrs, "out_layout", "") or attrs.data_layout
    )  # one of few bits has no layout of its own for the result
    return Layouts((parse(attrs.data_layout), parse(attrs.kernel_layout)), (parse(result),), attrs)


@layout_rule("nn.deformable_conv2d")
def deformable(s: LayoutSite) -> Layouts:
    """Data and offsets in the data's layout."""
    attrs = s.attrs
    data = parse(attrs.data_layout)
    return Layouts((data, data, parse(attrs.kernel_layout)), (parse(attrs.out_layout or attrs.data_layout),), attrs)


@layout_rule("qnn.conv2d", "qnn.conv2d_transpose")
def quantized_convolution(s: LayoutSite) -> Layouts:
    """A convolution's; scales and zero points are vectors."""
    layouts = convolution(s)
    return Layouts((*layouts.inputs, *(CHANNEL,) * 4), layouts.outputs, s.attrs)


@layout_rule("nn.correlation")
def correlation(s: LayoutSite) -> Layouts:
    """The layout of its attributes."""
    layout = parse(s.attrs.layout)
    return Layouts((layout, layout), (layout,), s.attrs)


@layout_rule("image.dilation2d")
def dilation(s: LayoutSite) -> Layouts:
    """The layouts of its attributes."""
    data = parse(s.attrs.data_layout)
    return Layouts((data, parse(s.attrs.kernel_layout)), (data,), s.attrs)


@shared_layout_rule("pooling")
def pooling(s: LayoutSite) -> Layouts:
    """The layout that comes in, unless the attributes insist on theirs."""
    attrs = s.attrs
    if not attrs.out_layout and s.new is not None and s.new[0] is not None:
        attrs = s.replaced(layout=s.new[0].name)
    layout = parse(attrs.layout)
    return Layouts((layout,), (layout,), attrs)


@layout_rule("qnn.avg_pool2d")
def quantized_pooling(s: LayoutSite) -> Layouts:
    """A pooling layer's; scales and zero points are scalars."""
    layouts = pooling(s)
    return Layouts((*layouts.inputs, *(CHANNEL,) * 4), layouts.outputs, layouts.attrs)


@layout_rule("nn.upsampling", "dyn.nn.upsampling", "nn.upsampling3d", "dyn.nn.upsampling3d")
def upsampling(s: LayoutSite) -> Layouts:
    """The layout that comes in, if height, width (and depth) are where they were and not split."""
    attrs = s.attrs
    if s.new is not None and s.new[0] is not None:
        own, now = parse(attrs.layout), s.new[0]
        same = all(now.index(a) == own.index(a) for a in "HW") and not any(a in now for a in "hw")
        if same and ("D" not in now or (now.index("D") == own.index("D") and "d" not in now)):
            attrs = s.replaced(layout=now.name)
    layout = parse(attrs.layout)
    rest = (CHANNEL,) * (len(s.old) - 1)
    return Layouts((layout, *rest), (layout,), attrs)


@layout_rule("image.resize1d", "image.resize2d")
def resize(s: LayoutSite) -> Layouts:
    """The layout that comes in, if it has as many axes."""
    attrs = s.attrs
    if s.moved is not None:
        old, new = s.moved
        if new != old and parse(attrs.layout) == old and len(new) == len(old):
            attrs = s.replaced(layout=new.name)
    layout = parse(attrs.layout)
    return Layouts((layout,), (layout,), attrs)


@layout_rule("vision.roi_align", "vision.roi_pool")
def regions(s: LayoutSite) -> Layouts:
    """The attributes' for the data; regions are rows of five numbers."""
    data = parse(s.attrs.layout)
    try:
        rows: MaybeLayout = parse("NW")
    except LayoutError:
        rows = None
    return Layouts((data, rows), (data,), s.attrs)


@layout_rule("nn.pad")
def pad(s: LayoutSite) -> Layouts:
    """The layout that comes in, if no padded axis was split; the value is a scalar."""
    scalar = Layout(())
    attrs = s.attrs
    if s.moved is None:
        return Layouts((s.old[0], scalar), (s.old[0],), attrs)
    old, new = s.moved
    widths = {a.letter: w for a, w in zip(old.axes, attrs.pad_width, strict=True)}
    moved = []
    for a in new.axes:
        if a.is_primal and a.letter in widths:
            moved.append(widths[a.letter])
            continue
        if any(w != 0 for w in widths[a.primal]):
            return Layouts((old, scalar), (old,), attrs)
        moved.append(widths[a.primal])
    return Layouts((new, scalar), (new,), s.replaced(pad_width=tuple(moved)))


@layout_rule("nn.dense")
def dense(s: LayoutSite) -> Layouts:
    """Rows and columns."""
    return Layouts((parse("NC"), parse("NC")), (parse("NC"),), s.attrs)


@layout_rule("nn.contrib_dense_pack")
def dense_pack(s: LayoutSite) -> Layouts:
    """Rows and columns; the weights as the attributes say."""
    return Layouts((parse("NC"), parse(s.attrs.weight_layout)), (parse("NC"),), s.attrs)


@layout_rule("qnn.contrib_dense_pack")
def quantized_dense_pack(s: LayoutSite) -> Layouts:
    """The layouts of `nn.contrib_dense_pack`; scales and zero points are vectors."""
    layouts = dense_pack(s)
    return Layouts((*layouts.inputs, *(parse("N"),) * 4), layouts.outputs, s.attrs)


@layout_rule("nn.prelu")
def prelu(s: LayoutSite) -> Layouts:
    """The old layout; slopes are a vector."""
    return Layouts((s.old[0], CHANNEL), (s.old[0],), s.attrs)


@layout_rule("nn.batch_norm")
def batch_norm(s: LayoutSite) -> Layouts:
    """Any; the channel axis moves along."""
    layout, attrs = _move_axis(s)
    return Layouts((layout, *(CHANNEL,) * 4), (layout, CHANNEL, CHANNEL), attrs)


@layout_rule("nn.instance_norm", "nn.layer_norm")
def normalisation(s: LayoutSite) -> Layouts:
    """Any; the axis moves along."""
    layout, attrs = _move_axis(s)
    return Layouts((layout, CHANNEL, CHANNEL), (layout,), attrs)


def _move_axis(s: LayoutSite) -> tuple[MaybeLayout, object]:
    """The layout after the move, and the attributes with `axis` where its dimension is now; a split one moves back."""
    if s.moved is None or s.is_split(s.attrs.axis):
        return s.old[0], s.attrs
    old, new = s.moved
    return new, s.replaced(axis=new.index(old.axes[s.axis(s.attrs.axis)].letter))


@layout_rule("nn.l2_normalize")
def l2_normalize(s: LayoutSite) -> Layouts:
    """Any; the axes move along, split ones with both of their parts."""
    if s.moved is None:
        return Layouts((s.old[0],), (s.old[0],), s.attrs)
    old, new = s.moved
    letters = [old.axes[s.axis(a)].letter for a in s.attrs.axis]
    axes = [new.index(part) for letter in letters for part in (letter, letter.lower()) if part in new]
    return Layouts((new,), (new,), s.replaced(axis=tuple(axes)))


@layout_rule("qnn.requantize")
def requantize(s: LayoutSite) -> Layouts:
    """Any without split axes; the axis moves along."""
    rest = (CHANNEL,) * 4
    if s.moved is None:
        return Layouts((s.old[0], *rest), (s.old[0],), s.attrs) if s.old[0] else unknown(s)
    old, new = s.moved
    primal = Layout(tuple(a for a in new.axes if a.is_primal))
    letter = old.axes[s.axis(s.attrs.axis)].letter
    return Layouts((primal, *rest), (primal,), s.replaced(axis=primal.index(letter)))
