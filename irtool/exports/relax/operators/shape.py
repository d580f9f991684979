"""Operators that move elements, and compute none."""

from __future__ import annotations

from ..forms import Form, NoForm, RelaxSite, form, row
from ..literals import Text, invocation


class Reshape(Form):
    """To a shape: that of the result, or with -1 and 0 as they stand where it is not known."""

    def write(self, site: RelaxSite) -> Text:
        if site.out.is_static:
            return invocation("R.reshape", site.args[0], tuple(site.dims(site.out)))
        newshape = getattr(site.attrs, "newshape", None)
        if newshape is None or any(int(d) < -1 for d in newshape) or getattr(site.attrs, "allowzero", False):
            raise NoForm("its result has a shape that only the data tells")
        return invocation("R.reshape", site.args[0], tuple(int(d) for d in newshape))


row(Reshape, "reshape", "R.reshape")


class StaticReshape(Form):
    """To the shape of the result, which is known."""

    def write(self, site: RelaxSite) -> Text:
        return invocation("R.reshape", site.args[0], tuple(site.dims(site.out)))


for _name in ("reshape_like", "nn.batch_flatten", "contrib_reverse_reshape"):
    row(StaticReshape, _name, "R.reshape")


@form("transpose", "R.permute_dims")
class Transpose(Form):
    """Axes in another order, the reverse one if none is given."""

    def write(self, site: RelaxSite) -> Text:
        axes = site.attrs.axes
        order = [site.axis(a) for a in axes] if axes else list(reversed(range(site.rank())))
        site.require(len(order) > 0, "there are no axes")
        return invocation("R.permute_dims", site.args[0], axes=order)


@form("expand_dims", "R.expand_dims")
class ExpandDims(Form):
    """New axes of one element each, one behind the other."""

    def write(self, site: RelaxSite) -> Text:
        count = int(site.attrs.num_newaxis)
        site.require(count > 0, "it adds no axis")
        axis = int(site.attrs.axis)
        first = axis if axis >= 0 else axis + site.rank() + 1
        return invocation("R.expand_dims", site.args[0], axis=list(range(first, first + count)))


@form("squeeze", "R.squeeze")
class Squeeze(Form):
    """Without axes of one element."""

    def write(self, site: RelaxSite) -> Text:
        axes = site.attrs.axis
        if axes is None and site.type(0).is_static:
            axes = [n for n, d in enumerate(site.dims(site.type(0))) if d == 1]
        site.require(axes is None or len(axes) > 0, "it removes no axis")
        return invocation("R.squeeze", site.args[0], axis=None if axes is None else [site.axis(a) for a in axes])


@form("concatenate", "R.concat")
class Concatenate(Form):
    """The tensors of a tuple, along an axis."""

    def write(self, site: RelaxSite) -> Text:
        rank = len(site.fields()[0].shape)
        return invocation("R.concat", site.args[0], axis=int(site.attrs.axis) % max(rank, 1))


@form("stack", "R.stack")
class Stack(Form):
    """The tensors of a tuple, along a new axis."""

    def write(self, site: RelaxSite) -> Text:
        rank = len(site.fields()[0].shape) + 1
        return invocation("R.stack", site.args[0], axis=int(site.attrs.axis or 0) % rank)


@form("split", "R.split")
class Split(Form):
    """Into equal parts, or at indices."""

    def write(self, site: RelaxSite) -> Text:
        into = site.attrs.indices_or_sections
        parts = int(into) if isinstance(into, int) else [int(i) for i in into]
        site.require(parts != [], "it does not divide anything")
        return invocation("R.split", site.args[0], parts, axis=site.axis(site.attrs.axis))


@form("tile", "R.tile")
class Tile(Form):
    """Repeated as a whole, along each axis."""

    def write(self, site: RelaxSite) -> Text:
        return invocation("R.tile", site.args[0], [int(n) for n in site.attrs.reps])


@form("repeat", "R.repeat")
class Repeat(Form):
    """Each element several times along an axis."""

    def write(self, site: RelaxSite) -> Text:
        site.require(site.attrs.axis is not None, "it is of the flattened tensor")
        return invocation("R.repeat", site.args[0], int(site.attrs.repeats), axis=site.axis(site.attrs.axis))


@form("reverse", "R.flip")
class Reverse(Form):
    """Backwards along an axis."""

    def write(self, site: RelaxSite) -> Text:
        site.require(site.attrs.axis is not None, "it names no axis")
        return invocation("R.flip", site.args[0], axis=site.axis(site.attrs.axis))


class BroadcastTo(Form):
    """To the shape of the result."""

    def write(self, site: RelaxSite) -> Text:
        return invocation("R.broadcast_to", site.args[0], tuple(site.dims(site.out)))


row(BroadcastTo, "broadcast_to", "R.broadcast_to")
row(BroadcastTo, "broadcast_to_like", "R.broadcast_to")


class CollapseSum(Form):
    """Sums over the axes that broadcasting would have made."""

    def write(self, site: RelaxSite) -> Text:
        site.require(site.is_float(), "it is of integers")
        return invocation("R.collapse_sum_to", site.args[0], tuple(site.dims(site.out)))


row(CollapseSum, "collapse_sum_to", "R.collapse_sum_to")
row(CollapseSum, "collapse_sum_like", "R.collapse_sum_to")


@form("strided_slice", "R.strided_slice")
class StridedSlice(Form):
    """From `begin` to `end` in steps; sizes (`slice_mode="size"`) are turned into ends."""

    def write(self, site: RelaxSite) -> Text:
        attrs = site.attrs
        dims = site.dims(site.type(0))
        site.require(attrs.begin is not None and attrs.end is not None, "its bounds are not attributes")
        begin, end = [int(b) for b in attrs.begin], [int(e) for e in attrs.end]
        axes = [site.axis(a) for a in attrs.axes] if attrs.axes else list(range(len(begin)))
        strides = [int(s) for s in attrs.strides] if attrs.strides else [1]
        strides = strides * len(begin) if len(strides) == 1 else strides
        if attrs.slice_mode == "size":
            firsts = [b + dims[a] if b < 0 else b for a, b in zip(axes, begin)]
            end = [dims[a] if size < 0 else b + size for a, b, size in zip(axes, firsts, end)]
            begin, strides = firsts, [1] * len(begin)
        site.require(len(begin) == len(end) == len(strides) == len(axes), "its bounds are of different lengths")
        site.require(all(s > 0 for s in strides), "it goes backwards")
        extents = site.dims(site.out)
        # Relax infers a negative extent where an end is before its beginning.
        end = [b if extents[a] == 0 else e for a, b, e in zip(axes, begin, end)]
        return invocation("R.strided_slice", site.args[0], axes=axes, begin=begin, end=end, strides=strides)


@form("slice_like", "R.strided_slice")
class SliceLike(Form):
    """The beginning of each axis, as long as that of the other tensor."""

    def write(self, site: RelaxSite) -> Text:
        dims = site.dims(site.out)
        axes = list(range(len(dims)))
        site.require(bool(axes), "there are no axes")
        zeros, ones = [0] * len(dims), [1] * len(dims)
        return invocation("R.strided_slice", site.args[0], axes=axes, begin=zeros, end=dims, strides=ones)
