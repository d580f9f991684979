"""The values of constants of one element, such as zero points, that calls pass to a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from ...tir import dtypes
from ...tir.expr import Const, const
from ...tir.program import CONSTANT, RunKernel
from ...tir.stmt import Buffer


def scalar_constants(s: RunKernel) -> Mapping[Buffer, Const]:
    """The values of the integer constants of one element that a kernel reads, by the parameters of the kernel."""
    values = {}
    for b, x in zip(s.kernel.inputs, s.inputs, strict=True):
        slot = x.resolve()
        if slot.kind == CONSTANT and prod(slot.shape) == 1 and dtypes.is_int(slot.dtype) and slot.derivation is None:
            values[b] = const(int(slot.data.reshape(())), slot.dtype)
    return values
