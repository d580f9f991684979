"""Reductions over axes."""

from __future__ import annotations

from ..forms import Form, NoForm, RelaxSite, form, row
from ..literals import Text, invocation


def reduced_axes(site: RelaxSite) -> list[int]:
    """The axes that are reduced: those named, all where none are, or those not named (`exclude`)."""
    rank, attrs = site.rank(), site.attrs
    named = attrs.axis
    if named is None:
        return [] if attrs.exclude else list(range(rank))
    if isinstance(named, int):
        named = (named,)
    axes = {int(a) % max(rank, 1) for a in named}
    if attrs.exclude:
        axes = set(range(rank)) - axes
    return sorted(axes)


class Reduction(Form):
    """Axes by name, or all but these; an empty list of axes reduces none."""

    def write(self, site: RelaxSite) -> Text:
        site.require(site.type(0).dtype != "bool", "Relax's operator takes no bools")
        axes = reduced_axes(site)
        site.require(bool(axes), "no axis is reduced")
        return invocation(self.relax, site.args[0], axis=axes, keepdims=bool(site.attrs.keepdims))


for _name in ["sum", "max", "min", "prod"]:
    row(Reduction, _name, f"R.{_name}")


@form("mean", "R.mean")
class Mean(Reduction):
    """Of floats; the mean of integers is a sum that is divided."""

    def write(self, site: RelaxSite) -> Text:
        site.require(site.is_float(), "it is of integers, and Relax's operator of floats")
        return super().write(site)


@form("variance", "R.mean of R.square of R.subtract", single=False)
class Variance(Form):
    """The mean square of the distance from a mean that is given."""

    def write(self, site: RelaxSite) -> Text:
        site.require(site.is_float() and not site.attrs.unbiased, "it is unbiased, or of integers")
        axes = reduced_axes(site)
        site.require(bool(axes), "no axis is reduced")
        site.require(site.rank(1) == site.rank(0), "the mean has other axes")
        square = Text(f"R.square(R.subtract({site.args[0]}, {site.args[1]}))")
        return invocation("R.mean", square, axis=axes, keepdims=bool(site.attrs.keepdims))


class Position(Form):
    """The first position, as int32; Relax's own result is int64."""

    def write(self, site: RelaxSite) -> Text:
        site.require(not site.attrs.select_last_index, "it is the last position")
        site.require(site.type(0).dtype != "bool", "Relax's operator takes no bools")
        axes = reduced_axes(site)
        rank = site.rank()
        if not axes or (len(axes) > 1 and len(axes) < rank):
            raise NoForm("it is over several axes")
        axis = axes[0] if len(axes) == 1 else None
        position = invocation(self.relax, site.args[0], axis=axis, keepdims=bool(site.attrs.keepdims))
        return invocation("R.astype", position, dtype=site.out.dtype)


row(Position, "argmax", "R.argmax")
row(Position, "argmin", "R.argmin")
