"""Which weights are known to hold finite numbers only: a zero of padding times such a weight adds nothing to a sum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..tir.dtypes import is_float
from ..tir.forms import with_buffers
from ..tir.kernel import Kernel
from ..tir.program import CONSTANT, Program, RunKernel, Slot, steps
from ..tir.stmt import Buffer


def finite_inputs(program: Program) -> dict[int, list[bool]]:
    """By identity of a kernel, which of its inputs are constants without infinity and NaN in every call."""
    known: dict[Slot, bool] = {}
    finite: dict[int, list[bool]] = {}
    for f in program.functions.values():
        for s in steps(f.body):
            if isinstance(s, RunKernel):
                here = [_is_finite(slot.resolve(), known) for slot in s.inputs]
                before = finite.get(id(s.kernel), here)
                finite[id(s.kernel)] = [a and b for a, b in zip(before, here, strict=True)]
    return finite


def mark_finite(kernel: Kernel, finite: Sequence[bool]) -> Kernel:
    """The kernel over inputs that say so where they are finite (`Buffer.finite`)."""
    replaced = {
        b: Buffer(b.name, b.shape, b.dtype, b.scope, b.layout, finite=True)
        for b, is_finite in zip(kernel.inputs, finite)
        if is_finite
    }
    if not replaced:
        return kernel
    params = [replaced.get(b, b) for b in kernel.params]
    return kernel.replace(params=params, stages=[with_buffers(form, replaced) for form in kernel.stages])


def _is_finite(slot: Slot, known: dict[Slot, bool]) -> bool:
    if slot.kind != CONSTANT or not is_float(slot.dtype):
        return False
    source = slot.origin  # packed weights have its elements, and zeros
    found = known.get(source)
    if found is None:
        found = known[source] = _holds_finite_numbers(source.data)
    return found


def _holds_finite_numbers(data: Any) -> bool:
    import numpy as np

    return bool(np.isfinite(data).all())
