"""Softmax, and norms with a scale and an offset."""

from __future__ import annotations

from ..forms import Form, RelaxSite, form, row
from ..literals import Text, invocation


class Softmax(Form):
    """Along an axis."""

    def write(self, site: RelaxSite) -> Text:
        site.require(site.rank() > 0, "there are no axes")
        site.require(site.is_float(), "it is of integers")
        return invocation(self.relax, site.args[0], axis=site.axis(site.attrs.axis))


row(Softmax, "nn.softmax", "R.nn.softmax")
row(Softmax, "nn.fast_softmax", "R.nn.softmax")
row(Softmax, "nn.log_softmax", "R.nn.log_softmax")


def _options(site: RelaxSite) -> dict[str, object]:
    attrs = site.attrs
    site.require(bool(attrs.center and attrs.scale), "it leaves out the scale or the offset, which TVM's code does not")
    return {"epsilon": float(attrs.epsilon), "center": bool(attrs.center), "scale": bool(attrs.scale)}


@form("nn.batch_norm", "R.nn.batch_norm with training=False")
class BatchNorm(Form):
    """With the statistics that are given, which are results as well."""

    def write(self, site: RelaxSite) -> Text:
        axis = site.axis(site.attrs.axis)
        return invocation("R.nn.batch_norm", *site.args, axis=axis, **_options(site), training=False)


@form("nn.layer_norm", "R.nn.layer_norm")
class LayerNorm(Form):
    """Over one axis."""

    def write(self, site: RelaxSite) -> Text:
        return invocation("R.nn.layer_norm", *site.args, axes=[site.axis(site.attrs.axis)], **_options(site))


@form("nn.group_norm", "R.nn.group_norm")
class GroupNorm(Form):
    """Over groups of channels, and all axes but the batch."""

    def write(self, site: RelaxSite) -> Text:
        channel = site.axis(site.attrs.axis)
        axes = [n for n in range(1, site.rank()) if n != channel]
        groups = int(site.attrs.num_groups)
        return invocation(
            "R.nn.group_norm", *site.args, num_groups=groups, channel_axis=channel, axes=axes, **_options(site)
        )


@form("nn.instance_norm", "R.nn.instance_norm")
class InstanceNorm(Form):
    """Over all axes but the batch and the channel."""

    def write(self, site: RelaxSite) -> Text:
        channel = site.axis(site.attrs.axis)
        axes = [n for n in range(1, site.rank()) if n != channel]
        return invocation("R.nn.instance_norm", *site.args, channel_axis=channel, axes=axes, **_options(site))
