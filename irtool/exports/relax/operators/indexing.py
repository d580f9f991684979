"""Operators that pick and place elements, and those that sort."""

from __future__ import annotations

from ..forms import Form, RelaxSite, form, row
from ..literals import Text, invocation


@form("take", "R.take")
class Take(Form):
    """Along an axis; of the flattened tensor where none is named."""

    def write(self, site: RelaxSite) -> Text:
        attrs = site.attrs
        site.require(int(attrs.batch_dims) == 0, "its first axes are batches")
        site.require(site.type(1).dtype in ("int32", "int64"), "its indices are narrow")
        data, axis = site.args[0], attrs.axis
        if axis is None:
            if site.rank() != 1:
                data = Text(f"R.flatten({data})")
            axis = 0
        site.require(attrs.mode == "clip", "Relax's does otherwise with indices outside")
        return invocation("R.take", data, site.args[1], axis=site.axis(axis), mode="clip")


@form("scatter_elements", "R.scatter_elements")
class ScatterElements(Form):
    """An index for each element of the updates, along an axis; indices must be constants, within the data."""

    def write(self, site: RelaxSite) -> Text:
        attrs = site.attrs
        site.require(site.rank() > 0, "there are no axes")
        indices, extent = site.constant(1), site.dims(site.type(0))[site.axis(attrs.axis)]
        # Relay leaves out other updates.
        inside = not indices.size or bool(-extent <= indices.min() and indices.max() < extent)
        site.require(inside, "Relax's writes beside the data where an index is outside")
        return invocation("R.scatter_elements", *site.args, axis=site.axis(attrs.axis), reduction=attrs.reduction)


@form("sort", "R.sort")
class Sort(Form):
    """Along an axis."""

    def write(self, site: RelaxSite) -> Text:
        site.require(site.type(0).dtype != "bool", "TVM sorts no bools")
        return invocation("R.sort", site.args[0], axis=site.axis(site.attrs.axis), descending=not site.attrs.is_ascend)


@form("argsort", "R.argsort")
class ArgSort(Form):
    """The positions of sorted elements."""

    def write(self, site: RelaxSite) -> Text:
        site.require(site.type(0).dtype != "bool", "TVM sorts no bools")
        descending = not site.attrs.is_ascend
        axis, dtype = site.axis(site.attrs.axis), site.out.dtype
        return invocation("R.argsort", site.args[0], axis=axis, descending=descending, dtype=dtype)


class Scan(Form):
    """A running sum or product along an axis."""

    def write(self, site: RelaxSite) -> Text:
        attrs = site.attrs
        site.require(attrs.axis is not None, "it is of the flattened tensor")
        site.require(0 not in site.dims(site.type(0)), "TVM scans no empty tensors")
        axis, dtype = site.axis(attrs.axis), site.out.dtype
        return invocation(self.relax, site.args[0], axis=axis, dtype=dtype, exclusive=bool(attrs.exclusive))


row(Scan, "cumsum", "R.cumsum")
row(Scan, "cumprod", "R.cumprod")


@form("einsum", "R.einsum")
class Einsum(Form):
    """By subscripts."""

    def write(self, site: RelaxSite) -> Text:
        return invocation("R.einsum", site.args[0], site.attrs.equation)
