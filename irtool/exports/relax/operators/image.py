"""Operators of images."""

from __future__ import annotations

from ..forms import Form, RelaxSite, form, row
from ..literals import Text, invocation


class Resize(Form):
    """The attributes have the same names and meanings."""

    def write(self, site: RelaxSite) -> Text:
        attrs = site.attrs
        site.require(attrs.layout.isalpha(), "its layout has blocks")
        dims = site.dims(site.out)
        size = tuple(d for d, axis in zip(dims, attrs.layout) if axis in "DHW")
        site.require(not attrs.roi or not any(attrs.roi), "it is of a region of interest")
        out = site.out.dtype
        return invocation(
            self.relax,
            site.args[0],
            size,
            layout=attrs.layout,
            method=attrs.method,
            coordinate_transformation_mode=attrs.coordinate_transformation_mode,
            rounding_method=attrs.rounding_method,
            cubic_alpha=float(attrs.cubic_alpha),
            cubic_exclude=int(attrs.cubic_exclude),
            extrapolation_value=float(attrs.extrapolation_value),
            **({} if out == site.type(0).dtype else {"out_dtype": out}),
        )


row(Resize, "image.resize2d", "R.image.resize2d")
row(Resize, "image.resize3d", "R.image.resize3d")


@form("image.grid_sample", "R.image.grid_sample")
class GridSample(Form):
    """The attributes have the same names and meanings."""

    def write(self, site: RelaxSite) -> Text:
        attrs = site.attrs
        return invocation(
            "R.image.grid_sample",
            *site.args,
            method=attrs.method,
            layout=attrs.layout,
            padding_mode=attrs.padding_mode,
            align_corners=bool(attrs.align_corners),
        )
