"""Weights without infinities and NaNs: zero padding times such a weight adds nothing to a sum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...array_blocks import blocks
from ...tir.dtypes import is_float
from ...tir.elements import numbers
from ...tir.forms import with_buffers
from ...tir.kernel import Kernel
from ...tir.program import CONSTANT, Program, Slot, runs_of
from ...tir.stmt import Buffer


class FiniteWeights:
    """Finiteness of the weights of a program. Each constant is examined once, when a kernel that reads it is first marked."""

    def __init__(self, program: Program) -> None:
        self._runs = runs_of(program)
        self._known: dict[Slot, bool] = {}

    def mark(self, kernel: Kernel) -> Kernel:
        """The kernel with `Buffer.finite` set for inputs that are constants without infinity and NaN in every call."""
        runs = self._runs.get(kernel, [])
        inputs = enumerate(kernel.inputs if runs else ())
        return _marked(kernel, [b for n, b in inputs if all(self._is_finite(s.inputs[n].resolve()) for s in runs)])

    def _is_finite(self, slot: Slot) -> bool:
        if slot.kind != CONSTANT or not is_float(slot.dtype):
            return False
        source = slot.origin  # packed weights have the elements of their source, and zeros
        if source not in self._known:
            self._known[source] = all(_is_finite(numbers(b, source.dtype)) for b in blocks(source.data))
        return self._known[source]


def _marked(kernel: Kernel, finite: Sequence[Buffer]) -> Kernel:
    replaced = {b: b.replace(finite=True) for b in finite}
    if not replaced:
        return kernel
    params = [replaced.get(b, b) for b in kernel.params]
    return kernel.replace(params=params, stages=[with_buffers(form, replaced) for form in kernel.stages])


def _is_finite(data: Any) -> bool:
    import numpy as np

    return bool(np.isfinite(data).all())
