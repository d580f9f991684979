"""Constants cut to the slice that a kernel reads, such as the centre of a window whose rim lies in the padding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...tir.expr import Expr, Load, rewrite
from ...tir.forms import AnyForm, Map, Reduction
from ...tir.kernel import Kernel
from ...tir.program import (
    Program,
    Slot,
    constant_inputs,
)
from ...tir.stmt import Buffer
from ...tir.vector_target import VectorTarget
from ..core.affine import loads, simplifier
from ..core.program_rewriter import ProgramRewriter
from ..cost.machine import MOST_LEFT

Box = tuple[tuple[int, int], ...]
"""The first index and the one past the last, by axis."""


def slice_constants(program: Program, target: VectorTarget) -> None:
    """Gives kernels the part of a constant that they read."""
    with ProgramRewriter(program) as rewriter:
        for kernel, calls in rewriter.open_kernels():
            for b in constant_inputs(calls):
                box = _box(b, kernel.stages)
                if box is None or math.prod(e - f for f, e in box) > MOST_LEFT * math.prod(b.shape):
                    continue
                n = kernel.inputs.index(b)
                kernel = _sliced(kernel, n, box)
                for s in calls:
                    s.inputs[n] = _part(rewriter, s.inputs[n].resolve(), box)
                rewriter.replace(calls, kernel)


def _box(b: Buffer, forms: Sequence[AnyForm]) -> Box | None:
    """The smallest box of indices with all that is read of a buffer; None where that is not known."""
    found: list[tuple[int, int]] = []
    for form in forms:
        if not isinstance(form, Map | Reduction):
            return None
        roots = [e for s in form.stores for e in (*s.indices, s.value)]
        simplify = simplifier(form.loops, form.inner)
        for e in loads(*roots, *((form.update,) if isinstance(form, Reduction) else ())):
            if e.source is not b:
                continue
            ranges = [simplify.range(simplify(i)) for i in e.indices]
            if any(math.isinf(low) or math.isinf(high) for low, high in ranges):
                return None
            here = [(max(0, int(low)), min(d, int(high) + 1)) for (low, high), d in zip(ranges, b.shape, strict=True)]
            found = [(min(a, c), max(z, y)) for (a, z), (c, y) in zip(found or here, here, strict=True)]
    return tuple(found) if found and all(f < e for f, e in found) else None


def _sliced(kernel: Kernel, n: int, box: Box) -> Kernel:
    """The kernel over a part of its input `n`."""
    old = kernel.inputs[n]
    new = old.replace(shape=[e - f for f, e in box])

    def moved(e: Expr) -> Expr:
        if not isinstance(e, Load) or e.source is not old:
            return e
        return Load(new, tuple(i - f for i, (f, _) in zip(e.indices, box, strict=True)))

    def change(form: AnyForm) -> AnyForm:
        assert isinstance(form, Map | Reduction)
        simplify = simplifier(form.loops, form.inner)

        def here(e: Expr) -> Expr:
            return simplify(rewrite(e, moved))

        stores = tuple(s.rewritten(here) for s in form.stores)
        if isinstance(form, Map):
            return Map(form.loops, stores)
        return replace(form, update=here(form.update), stores=stores)

    params = [new if p is old else p for p in kernel.params]
    return kernel.replace(params=params, stages=[change(form) for form in kernel.stages])


def _part(rewriter: ProgramRewriter, c: Slot, box: Box) -> Slot:
    def compute(data: Any) -> Any:
        import numpy as np

        return np.ascontiguousarray(data[tuple(slice(f, e) for f, e in box)])

    return rewriter.derive(c, ("slice", box), compute, [e - f for f, e in box])
