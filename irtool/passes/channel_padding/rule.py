"""The rules of PadChannels, by operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...ir import Call
from ..core.rule_table import RuleTable

Layer = Callable[[Call], bool]
"""`rule(call)`: whether a layer, with the weights as second argument and their first axes those of output and input channels, is
computed as channels one behind the other."""

Keeping = Callable[[Call, Sequence[float]], float | None]
"""`rule(call, added)`: the largest number in added channels of the result, for those in added channels of each argument; None if the
result does not have the channels of its arguments. Added channels of constants, and of small tensors, are zeros; a constant that is
the same for all channels has its largest number."""

LAYERS: RuleTable[str, Layer] = RuleTable("irtool.passes.channel_padding.rules", "the channels of")
KEEPING: RuleTable[str, Keeping] = RuleTable("irtool.passes.channel_padding.rules", "the channels that are kept by")


def makes_channels(*names: str) -> Callable[[Layer], Layer]:
    """Decorator: files the rule of layers."""
    return LAYERS.file(*names)


def keeps_channels(*names: str) -> Callable[[Keeping], Keeping]:
    """Decorator: files the rule of operators that keep the channels of their arguments, along the second axis of all of them."""
    return KEEPING.file(*names)
