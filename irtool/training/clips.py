"""The gradient of clips in training: zero at the bounds.

That is torch's gradient of ReLU6. A channel that normalizations have made constant is exactly 0 in front of a ReLU6. `Gradient` lets gradients pass there, as TVM does.
"""

from __future__ import annotations

from ..ir import Expr
from ..ops.base import call
from ..passes.core.arithmetic import multiply
from ..passes.core.constants import scalar_constant
from ..passes.gradients.rule import GradientSite

NAME = "clip"


def gradient(s: GradientSite) -> list[Expr]:
    """The gradient between the bounds, and 0 at and beyond them."""
    x = s.args[0]
    above = call("less", scalar_constant(s.attrs.a_min, s.dtype), x)
    below = call("less", x, scalar_constant(s.attrs.a_max, s.dtype))
    return [multiply(s.grad, call("cast", call("logical_and", above, below), dtype=s.dtype))]
