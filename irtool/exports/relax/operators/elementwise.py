"""Operators of one tensor, element by element."""

from __future__ import annotations

from typing import ClassVar

from ..forms import Form, RelaxSite, form, row
from ..literals import Text, invocation


class Elementwise(Form):
    """The same operator of each element."""

    floats_only: ClassVar[bool] = False
    wide_only: ClassVar[bool] = False
    bools: ClassVar[bool | None] = False

    def write(self, site: RelaxSite) -> Text:
        is_bool = site.type(0).dtype == "bool"
        site.require(self.bools is None or is_bool == self.bools, f"Relax's operator takes no {site.type(0).dtype}")
        site.require(site.is_float() or not self.floats_only, "it is of integers, and Relax's operator of floats")
        dtype = site.type(0).dtype
        site.require(dtype not in ("float16", "bfloat16") or not self.wide_only, f"TVM compiles none of {dtype}")
        return invocation(self.relax, site.args[0])


_OF_REALS = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cos",
    "cosh",
    "erf",
    "exp",
    "log",
    "rsqrt",
    "sigmoid",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "isfinite",
    "isinf",
    "isnan",
    "ceil",
    "floor",
    "trunc",
]
_OF_ANY = ["abs", "bitwise_not", "negative", "sign"]
_OF_WIDE = ["acos", "acosh", "asin", "asinh", "atan", "cosh", "erf", "sinh"]
for _name in _OF_REALS:
    row(Elementwise, _name, f"R.{_name}", floats_only=True, wide_only=_name in _OF_WIDE)
for _name in _OF_ANY:
    row(Elementwise, _name, f"R.{_name}")
row(Elementwise, "logical_not", "R.logical_not", bools=True)
for _name in ("exp", "tanh", "erf"):
    row(Elementwise, f"fast_{_name}", f"R.{_name}", floats_only=True, wide_only=_name in _OF_WIDE)
row(Elementwise, "nn.relu", "R.nn.relu")
row(Elementwise, "zeros_like", "R.zeros_like", bools=None)
row(Elementwise, "ones_like", "R.ones_like", bools=None)


class Same(Form):
    """The argument itself: the operator says something to compilers, and computes nothing."""

    def write(self, site: RelaxSite) -> Text:
        return site.args[0]


for _name in ("copy", "annotation.stop_fusion", "annotation.cast_hint", "annotation.checkpoint", "on_device"):
    row(Same, _name, "the argument itself")
for _name in ("compiler_begin", "compiler_end", "bitpack_start", "bitpack_end"):
    row(Same, f"annotation.{_name}", "the argument itself")


@form("clip", "R.clip")
class Clip(Form):
    """The bounds are attributes on both sides."""

    def write(self, site: RelaxSite) -> Text:
        dtype = site.type(0).dtype
        site.require(site.is_float() or dtype in ("int32", "int64"), "bounds of narrow integers are rounded otherwise")
        low, high = site.attrs.a_min, site.attrs.a_max
        if not site.is_float():
            whole = float(low).is_integer() and float(high).is_integer()
            bits = int(dtype[3:]) - 1
            site.require(whole and -(2**bits) <= low and high < 2**bits, "the bounds are no numbers of the dtype")
            low, high = int(low), int(high)
        return invocation("R.clip", site.args[0], low, high)


@form("nn.leaky_relu", "R.nn.leakyrelu")
class LeakyRelu(Form):
    """`alpha` is an attribute on both sides."""

    def write(self, site: RelaxSite) -> Text:
        site.require(site.is_float(), "it is of integers, and Relax's operator of floats")
        return invocation("R.nn.leakyrelu", site.args[0], alpha=float(site.attrs.alpha))


@form("nn.prelu", "R.nn.prelu")
class PRelu(Form):
    """A slope for each channel."""

    def write(self, site: RelaxSite) -> Text:
        return invocation("R.nn.prelu", site.args[0], site.args[1], axis=site.axis(site.attrs.axis))


@form("cast", "R.astype")
class Cast(Form):
    """The dtype is an attribute on both sides."""

    def write(self, site: RelaxSite) -> Text:
        return invocation("R.astype", site.args[0], dtype=site.out.dtype)


row(Cast, "cast_like", "R.astype")


@form("nn.dropout", "the argument itself, with R.ones_like as mask", single=False)
class Dropout(Form):
    """At inference nothing is dropped, and the mask is of ones."""

    def write(self, site: RelaxSite) -> Text:
        return Text(f"({site.args[0]}, R.ones_like({site.args[0]}))")


@form("device_copy", "the argument itself")
class DeviceCopy(Form):
    """A copy between equal devices."""

    def write(self, site: RelaxSite) -> Text:
        attrs = site.attrs
        site.require(attrs.src_virtual_device == attrs.dst_virtual_device, "Relax has virtual devices of its own")
        return site.args[0]
