"""Constants split among the stages of a kernel, each in the order of its reads, such as the phases of a transposed convolution.

    for k: a += x[y + k] * w[3 - 2 * k]; …; for k: b += x[y + k] * w[2 - 2 * k]
    ⇒   for k: a += x[y + k] * wa[k]; …; for k: b += x[y + k] * wb[k]                      (wa = w[3], w[1]; wb = w[2], w[0])

Each stage then reads its weights from one end to the other, in blocks of its own, and may be computed otherwise than the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...tir.expr import Expr, Load, Var, const, rewrite
from ...tir.forms import AnyForm, Reduction, buffers_read
from ...tir.kernel import Kernel
from ...tir.program import (
    Program,
    RunKernel,
    Slot,
    constant_inputs,
)
from ...tir.stmt import Buffer
from ...tir.vector_target import VectorTarget
from ..core.affine import loads, simplifier
from ..core.program_rewriter import ProgramRewriter

Indices = tuple[tuple[int, ...], ...]
"""Which elements of an array, by axis."""


@dataclass(frozen=True)
class _Part:
    """What a stage reads of the weights: by axis, the indices, and the variable with which they move (None: there is one)."""

    indices: Indices
    variables: tuple[Var | None, ...]

    @property
    def shape(self) -> list[int]:
        """Elements along each axis."""
        return [len(i) for i in self.indices]

    def is_apart_from(self, other: _Part) -> bool:
        """True if no element is in both."""
        return any(not {*a} & {*b} for a, b in zip(self.indices, other.indices))


def split_weights(program: Program, target: VectorTarget) -> None:
    """Gives every stage of a kernel its own part of constants that others read other parts of."""
    with ProgramRewriter(program) as rewriter:
        for kernel, calls in rewriter.open_kernels():
            for b in constant_inputs(calls):
                parts = _parts(b, kernel.stages) if b.dtype == "float32" else None  # of bytes, words are made of all
                if parts is not None:
                    kernel = _parted(kernel, calls, b, parts, rewriter)


def _parts(b: Buffer, forms: Sequence[AnyForm]) -> dict[int, _Part] | None:
    """What each stage reads, by its number; None where two read the same, or one alone reads all from the first to the last."""
    parts: dict[int, _Part] = {}
    for n, form in enumerate(forms):
        if b not in buffers_read(form):
            continue
        part = _part_of(b, form) if isinstance(form, Reduction) else None
        if part is None or not all(part.is_apart_from(other) for other in parts.values()):
            return None
        parts[n] = part
    whole = tuple(tuple(range(n)) for n in b.shape)
    return parts if any(p.indices != whole for p in parts.values()) else None


def _part_of(b: Buffer, r: Reduction) -> _Part | None:
    """What a reduction reads, in one place; None where that is no box of evenly spaced elements along each axis."""
    roots = [e for s in r.stores for e in (*s.indices, s.value)]
    read = {e: None for e in loads(r.update) if e.source is b}
    if len(read) != 1 or any(e.source is b for e in loads(*roots, r.init)):
        return None
    (load,) = read
    simplify, extents = simplifier(r.loops, r.inner), dict((*r.loops, *r.inner))
    found: list[tuple[Var | None, tuple[int, ...]]] = []
    for i, size in zip(load.indices, b.shape):
        terms, rest = simplify.linear(i)
        variables = [v for v in terms if isinstance(v, Var)]
        if len(terms) > 1 or len(variables) != len(terms):
            return None
        v = variables[0] if variables else None
        indices = tuple(int(terms[v]) * k + int(rest) for k in range(extents[v])) if v is not None else (int(rest),)
        if min(indices) < 0 or max(indices) >= size:
            return None
        found.append((v, indices))
    moving = [v for v, _ in found if v is not None]
    return _Part(tuple(i for _, i in found), tuple(v for v, _ in found)) if len({*moving}) == len(moving) else None


def _parted(
    kernel: Kernel, calls: list[RunKernel], b: Buffer, parts: dict[int, _Part], rewriter: ProgramRewriter
) -> Kernel:
    """The kernel with a parameter for each part, the first in the place of the whole, and the runs with constants for them."""
    number = kernel.inputs.index(b)
    new = {n: b.replace(shape=p.shape) for n, p in parts.items()}
    stages = [_reading(f, b, new[n], parts[n]) if n in parts else f for n, f in enumerate(kernel.stages)]
    first, *others = new.values()
    inputs = [first if i is b else i for i in kernel.inputs]
    changed = kernel.replace(params=[*inputs, *others, *kernel.outputs], stages=stages)
    for s in calls:
        whole = s.inputs[number].resolve()
        own = [_slot(rewriter, whole, p.indices, n) for n, p in enumerate(parts.values())]
        s.inputs = [*s.inputs[:number], own[0], *s.inputs[number + 1 :], *own[1:]]
    rewriter.replace(calls, changed)
    return changed


def _reading(form: AnyForm, whole: Buffer, part: Buffer, p: _Part) -> Reduction:
    """The stage, which reads a part."""
    assert isinstance(form, Reduction)
    place: tuple[Expr, ...] = tuple(v if v is not None else const(0) for v in p.variables)

    def own(e: Expr) -> Expr:
        return Load(part, place) if isinstance(e, Load) and e.source is whole else e

    return replace(form, update=rewrite(form.update, own))


def _slot(rewriter: ProgramRewriter, whole: Slot, indices: Indices, number: int) -> Slot:
    def compute(data: Any) -> Any:
        import numpy as np

        return np.ascontiguousarray(np.asarray(data)[np.ix_(*indices)])

    shape = [len(i) for i in indices]
    return rewriter.derive(whole, ("part", indices), compute, shape, name=f"{whole.name}_{number}")
