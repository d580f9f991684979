"""Gradients of operators that leave their argument as it is."""

from __future__ import annotations

from ...ir import Expr
from ...ops.base import call
from .rule import GradientSite, gradient


@gradient(
    "annotation.stop_fusion",
    "annotation.checkpoint",
    "annotation.bitpack_start",
    "annotation.bitpack_end",
    "annotation.cast_hint",
    "annotation.compiler_begin",
    "annotation.compiler_end",
    "debug",
    "on_device",
)
def unchanged(s: GradientSite) -> list[Expr]:
    """1."""
    return [s.grad]


@gradient("device_copy")
def device_copy(s: GradientSite) -> list[Expr]:
    """1: the gradient goes back to the device that the value came from."""
    a = s.attrs
    return [
        call("device_copy", s.grad, src_virtual_device=a.dst_virtual_device, dst_virtual_device=a.src_virtual_device)
    ]
