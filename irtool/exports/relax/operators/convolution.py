"""Convolutions, pools and padding."""

from __future__ import annotations

from ..forms import Form, RelaxSite, form, row
from ..literals import Text, invocation


def _numbers(value: object) -> list[int]:
    return [int(v) for v in (value if isinstance(value, tuple | list) else (value,))]  # type: ignore[union-attr]  # ints of TVM's


class Convolution(Form):
    """The attributes have the same names and meanings."""

    def write(self, site: RelaxSite) -> Text:
        attrs = site.attrs
        site.require(attrs.out_layout in ("", attrs.data_layout), "its result has another layout")
        site.require(site.type(0).dtype == site.type(1).dtype, "its operands are of two dtypes")
        site.require(attrs.data_layout.isalpha() and attrs.kernel_layout.isalpha(), "its layout has blocks")
        self.check(site)
        out = site.out.dtype
        return invocation(
            self.relax,
            *site.args,
            strides=_numbers(attrs.strides),
            padding=_numbers(attrs.padding),
            dilation=_numbers(attrs.dilation),
            groups=int(attrs.groups),
            data_layout=attrs.data_layout,
            kernel_layout=self.kernel_layout(site),
            **({} if out == site.type(0).dtype else {"out_dtype": out}),
            **self.more(site),
        )

    def check(self, site: RelaxSite) -> None:
        """Raises NoForm for weights whose first axis is not that of the results' channels."""
        weights, layout = site.dims(site.type(1)), site.attrs.kernel_layout
        channels = site.out.shape[site.attrs.data_layout.index("C")]
        site.require(weights[layout.index("O")] == channels, "its weights have channels for each group")

    def kernel_layout(self, site: RelaxSite) -> str:
        """Relax's name for the layout of the weights."""
        return site.attrs.kernel_layout

    def more(self, site: RelaxSite) -> dict[str, object]:
        """Further options."""
        return {}


for _n in (1, 2, 3):
    row(Convolution, f"nn.conv{_n}d", f"R.nn.conv{_n}d")


class TransposedConvolution(Convolution):
    """Relay's `OIHW` here are weights by input channels first: `IOHW` in Relax."""

    def check(self, site: RelaxSite) -> None:
        """Its weights have the channels of the results by groups."""

    def kernel_layout(self, site: RelaxSite) -> str:
        layout = site.attrs.kernel_layout
        site.require(layout.startswith("OI"), "its weights have another layout")
        return f"IO{layout[2:]}"

    def more(self, site: RelaxSite) -> dict[str, object]:
        return {"output_padding": _numbers(site.attrs.output_padding)}


for _n in (1, 2, 3):
    row(TransposedConvolution, f"nn.conv{_n}d_transpose", f"R.nn.conv{_n}d_transpose")


class Pool(Form):
    """The attributes have the same names and meanings."""

    def write(self, site: RelaxSite) -> Text:
        attrs = site.attrs
        site.require(attrs.out_layout in ("", attrs.layout) and attrs.layout.isalpha(), "its layout has blocks")
        site.require(site.is_float() or "max" in self.relax, "it is of integers, and Relax's sums are int64")
        options = {n: _numbers(getattr(attrs, n)) for n in ("pool_size", "strides", "padding", "dilation")}
        more = {"count_include_pad": bool(attrs.count_include_pad)} if hasattr(attrs, "count_include_pad") else {}
        ceil_mode = bool(attrs.ceil_mode)
        return invocation(self.relax, site.args[0], **options, ceil_mode=ceil_mode, **more, layout=attrs.layout)


for _n in (1, 2, 3):
    row(Pool, f"nn.max_pool{_n}d", f"R.nn.max_pool{_n}d")
    row(Pool, f"nn.avg_pool{_n}d", f"R.nn.avg_pool{_n}d")


class AdaptivePool(Form):
    """To a number of windows along each axis of the image; as many as there are pixels where none is given."""

    def write(self, site: RelaxSite) -> Text:
        attrs = site.attrs
        site.require(attrs.out_layout in ("", attrs.layout) and attrs.layout.isalpha(), "its layout has blocks")
        dims = site.dims(site.out)
        size = [d for d, axis in zip(dims, attrs.layout) if axis in "DHW"]
        return invocation(self.relax, site.args[0], size, layout=attrs.layout)


for _n in (1, 2, 3):
    row(AdaptivePool, f"nn.adaptive_avg_pool{_n}d", f"R.nn.adaptive_avg_pool{_n}d")


class GlobalPool(Form):
    """A reduction over the axes of the image, which stay as axes of one element."""

    def write(self, site: RelaxSite) -> Text:
        layout = site.attrs.layout
        site.require(layout.isalpha() and site.attrs.out_layout in ("", layout), "its layout has blocks")
        axes = [layout.index("H"), layout.index("W")]
        return invocation(self.relax, site.args[0], axis=axes, keepdims=True)


row(GlobalPool, "nn.global_avg_pool2d", "R.mean")
row(GlobalPool, "nn.global_max_pool2d", "R.max")


@form("nn.pad", "R.nn.pad")
class Pad(Form):
    """With a value that is known, or those at the edge, or mirrored ones."""

    def write(self, site: RelaxSite) -> Text:
        attrs = site.attrs
        widths = [int(n) for pair in attrs.pad_width for n in pair]
        site.require(attrs.pad_mode == "constant", "elements at the edge are repeated")
        site.require(all(n >= 0 for n in widths), "it cuts off")
        value = float(site.number(1))
        site.require(site.is_float() or value.is_integer(), "the value is no whole number")
        return invocation("R.nn.pad", site.args[0], widths, pad_mode="constant", pad_value=value)
