"""PadChannels: channels that do not fill vectors get others beside them, which nobody reads."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Function, Module, post_order, rewrite
from .channel_padding.calls import is_layer
from .channel_padding.padder import Padder
from .channel_padding.webs import choose_tensors
from .core.base import FunctionPass, register_pass
from .core.config_option import ConfigOption
from .core.context import PassContext

LANES = "irtool.channel_lanes"


@register_pass(
    "PadChannels",
    level=3,
    required=("InferType",),
    config={LANES: ConfigOption(int, 0, "channels in a vector, for PadChannels; builds know them of their processor")},
)
@dataclass(frozen=True)
class PadChannels(FunctionPass):
    """Adds channels between convolutions until they fill vectors of `lanes`, or halves of them.

    ::

        nn.conv2d(nn.relu(nn.conv2d(%x, V)), W)   ⇒   nn.conv2d(nn.relu(nn.conv2d(%x, V')), W')    V (37, ...), V' (48, ...)
        nn.conv2d(concatenate((%x, %y), axis=1), W)
                                  ⇒   nn.conv2d(concatenate((%x, %y, zeros(shape=[1, 14, 32, 32])), axis=1), W')
        nn.conv2d(%x, V)          ⇒   strided_slice(nn.conv2d(%x, V'), end=[37], axes=[1])

    The filters of added channels are zeros, and so are the weights that read them; what lies between makes finite numbers of
    zeros. It is done where the convolutions that make or read them have a million multiply-adds, and 256 for each element that is copied
    for others. `lanes` that are not given are those of the context; without any, nothing is changed.
    """

    lanes: int = 0

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        lanes = self.lanes or int(context.option(LANES, 0))
        if lanes < 4 or not any(is_layer(e) for e in post_order(function.body)):
            return function
        chosen = choose_tensors(function, lanes)
        return rewrite(function, Padder(chosen, lanes).leave) if chosen else function
