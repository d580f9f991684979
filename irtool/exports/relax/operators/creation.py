"""Operators that make tensors."""

from __future__ import annotations

from ..forms import Form, RelaxSite, form, row
from ..literals import Text, invocation


def shape(site: RelaxSite) -> Text:
    """The shape of the result, as an expression."""
    return invocation("R.shape", site.dims(site.out))


class Filled(Form):
    """One value everywhere."""

    def write(self, site: RelaxSite) -> Text:
        site.require(not site.args, "its shape is a tensor")
        return invocation(self.relax, shape(site), dtype=site.out.dtype)


row(Filled, "zeros", "R.zeros")
row(Filled, "ones", "R.ones")


@form("full", "R.full")
class Full(Form):
    """A scalar everywhere."""

    def write(self, site: RelaxSite) -> Text:
        site.require(len(site.args) == 1, "its shape is a tensor")
        return invocation("R.full", shape(site), site.args[0], dtype=site.out.dtype)


@form("full_like", "R.full")
class FullLike(Form):
    """A scalar everywhere, in the shape of another tensor."""

    def write(self, site: RelaxSite) -> Text:
        return invocation("R.full", shape(site), site.args[1], dtype=site.out.dtype)


@form("arange", "R.arange")
class Arange(Form):
    """From a first number, in steps, up to another; of numbers that are known."""

    def write(self, site: RelaxSite) -> Text:
        numbers = [site.number(n) for n in range(3)]
        site.require(site.out.dtype in ("int32", "int64"), "numbers that are not whole are rounded otherwise")
        site.require(all(float(n).is_integer() for n in numbers), "its numbers are not whole")
        return invocation("R.arange", *[int(n) for n in numbers], dtype=site.out.dtype)


@form("trilu", "R.triu or R.tril")
class Trilu(Form):
    """The upper or lower triangle."""

    def write(self, site: RelaxSite) -> Text:
        return invocation("R.triu" if site.attrs.upper else "R.tril", site.args[0], int(site.number(1)))


@form("one_hot", "R.one_hot")
class OneHot(Form):
    """One value at the index, another elsewhere."""

    def write(self, site: RelaxSite) -> Text:
        on, off = (invocation("R.prim_value", Text(f"T.{site.out.dtype}({site.number(n)!r})")) for n in (1, 2))
        site.require(site.out.dtype == site.type(1).dtype, "the values are of another dtype")
        site.require(site.out.dtype in ("int32", "int64", "float32"), "its values are of a narrow dtype")
        return invocation("R.one_hot", site.args[0], on, off, int(site.attrs.depth), axis=int(site.attrs.axis))
