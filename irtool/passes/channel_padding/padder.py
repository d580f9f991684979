"""Adds channels to tensors."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from typing import Any

from ...ir import Call, Constant, Expr, Tuple
from ...ops.base import call
from ...ops.dtypes import dtype_of
from ..core.constants import array_constant, has_data, scalar_constant, tensor_constant, to_array
from ..core.extents import known_extents
from .calls import adds_channels, channel_axis, fields_of, is_depthwise, is_layer
from .channels import PaddedChannels, whole_channels


class Padder:
    """Rewrites a function: chosen calls get padded channels. Each has two results then, the original one and the padded one."""

    def __init__(self, chosen: Set[Expr], lanes: int) -> None:
        self.chosen = chosen
        self.lanes = lanes
        self.padded: dict[Expr, tuple[Expr, PaddedChannels]] = {}

    def leave(self, old: Expr, new: Expr) -> Expr:
        """The replacement of a node, given its rewritten operands."""
        if not isinstance(old, Call) or not isinstance(new, Call):
            return new
        if is_layer(old) and old.args[0] in self.padded:
            data, channels = self.padded[old.args[0]]
            new = _with(new, data, _spread(old.args[1], channels, 1))
        if old not in self.chosen:
            return new
        padded, channels = self._with_channels(old, new)
        self.padded[old] = padded, channels
        return channels.own_of(padded)

    def _with_channels(self, old: Call, new: Call) -> tuple[Call, PaddedChannels]:
        """The call with channels added to its result."""
        if is_layer(old):
            channels = self._behind_own(old)
            bias_add = _with(new, new.args[0], _spread(new.args[1], channels, 0))
            return _with_count(bias_add, channels.count), channels
        if fields_of(old):
            return self._concatenated(old, new)
        if adds_channels(old):
            return self._with_zeros(old, new)
        (channels,) = {self.padded[x][1] for x in old.args if x in self.padded}
        return self._with_same_channels(old, new, channels), channels

    def _behind_own(self, e: Expr) -> PaddedChannels:
        """The channels of a call, and behind them those that fill vectors."""
        own = known_extents(e)[1]
        return PaddedChannels.behind(own, whole_channels(own, self.lanes))

    def _concatenated(self, old: Call, new: Call) -> tuple[Call, PaddedChannels]:
        """Tensors one behind the other, with all their channels: those of whole vectors first, zeros last."""
        fields = new.args[0]
        assert isinstance(fields, Tuple)
        parts = [self.padded.get(x) or (e, _own(x)) for x, e in zip(fields_of(old), fields.fields, strict=True)]
        order = sorted(range(len(parts)), key=lambda n: parts[n][1].count % self.lanes != 0)
        positions: list[tuple[int, ...]] = [()] * len(parts)
        count = 0
        for n in order:
            positions[n] = tuple(count + p for p in parts[n][1].places)
            count += parts[n][1].count
        channels = PaddedChannels(sum(positions, ()), whole_channels(count, self.lanes))
        channels_in_order = [parts[n][0] for n in order]
        if channels.count > count:
            batch, _, *image = known_extents(old)
            channels_in_order.append(call("zeros", shape=(batch, channels.count - count, *image), dtype=dtype_of(old)))
        return call("concatenate", Tuple(tuple(channels_in_order)), axis=1, span=old.span), channels

    def _with_zeros(self, old: Call, new: Call) -> tuple[Call, PaddedChannels]:
        """Zeros behind the own channels of an operand, as many more as others get."""
        channels = self._behind_own(old)
        widths = list(new.attrs.pad_width)
        widths[1] = (0, channels.count - known_extents(old.args[0])[1])
        return _with_attrs(new, pad_width=tuple(widths)), channels

    def _with_same_channels(self, old: Call, new: Call, channels: PaddedChannels) -> Call:
        """A call that keeps the channels of its operands."""
        if is_depthwise(old):
            convolution = _with(new, self.padded[old.args[0]][0], _spread(old.args[1], channels, 0))
            return _with_count(_with_attrs(convolution, groups=channels.count), channels.count)
        operands = zip(old.args, new.args, strict=True)
        return _with(
            new, *(self.padded[x][0] if x in self.padded else _operand(old, x, e, channels) for x, e in operands)
        )


def _operand(user: Call, old: Expr, new: Expr, channels: PaddedChannels) -> Expr:
    """An operand beside those with the channels of a call: with zeros for added channels, if it has an element for each."""
    axis, own = channel_axis(user, old), known_extents(old)
    if axis is None:
        return new
    if has_data(old):
        return _spread(old, channels, axis)
    widths = tuple((0, int(n == axis)) for n in range(len(own)))
    padded = call("nn.pad", new, scalar_constant(0.0, dtype_of(old)), pad_width=widths)
    place = {p: n for n, p in enumerate(channels.places)}
    indices = [place.get(n, own[axis]) for n in range(channels.count)]
    return call("take", padded, tensor_constant(indices, "int32"), axis=axis, mode="fast")


def _own(e: Expr) -> PaddedChannels:
    """The channels of a tensor as it is."""
    count = known_extents(e)[1]
    return PaddedChannels.behind(count, count)


def _spread(constant: Expr, channels: PaddedChannels, axis: int) -> Expr:
    assert isinstance(constant, Constant)
    return array_constant(channels.spread(to_array(constant), axis), constant.dtype)


def _with(e: Call, *args: Expr) -> Call:
    return Call(e.op, args, e.attrs, (), e.span)


def _with_attrs(e: Call, **attrs: Any) -> Call:
    return Call(e.op, e.args, replace(e.attrs, **attrs), e.type_args, e.span)


def _with_count(e: Call, count: int) -> Call:
    """A convolution that says how many channels it makes, if it did before."""
    return e if e.attrs.channels is None else _with_attrs(e, channels=count)
