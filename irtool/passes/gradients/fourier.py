"""The gradient of the discrete Fourier transform, which is the transform the other way round."""

from __future__ import annotations

from ...ir import Expr, TupleGetItem
from ...ops.base import call
from ..core.arithmetic import multiply
from ..core.constants import scalar_constant
from .rule import GradientSite, gradient


@gradient("dft")
def dft(s: GradientSite) -> list[Expr]:
    """The inverse transform of the gradient times the length; of the inverse, the transform over the length."""
    extent = s.shape()[-1]
    back = call("dft", TupleGetItem(s.grad, 0), TupleGetItem(s.grad, 1), inverse=not s.attrs.inverse)
    factor = scalar_constant((1 / extent if s.attrs.inverse else float(extent)) if extent else 1.0, s.dtype)
    return [multiply(TupleGetItem(back, k), factor) for k in range(2)]
