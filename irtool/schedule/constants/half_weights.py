"""Matrices in float32 whose elements are all numbers of float16 or bfloat16, stored in 16 bits.

    acc += x[m, k] * w[n, k]        w float32        ⇒        acc += x[m, k] * float32(w'[n, k])        w' float16

Files of language models have such weights, and constant folding, or the program that wrote the file, widened them. A product of one row reads each
weight once: the time is that of reading memory, and half of the bytes take half of it.
"""

from __future__ import annotations

from typing import Any

from ...tir.elements import numbers
from ...tir.expr import Cast, Expr, Load
from ...tir.forms import AnyForm, Reduction, Steps, buffers_read, rewrite_loads
from ...tir.kernel import Kernel
from ...tir.program import CONSTANT, Program, RunKernel, Slot
from ...tir.stmt import Buffer
from ...tir.vector_target import VectorTarget
from ..core.program_rewriter import ProgramRewriter
from ..graph.fixed_slots import fixed_slots

_WIDE = "float32"


def halve_weights(program: Program, target: VectorTarget) -> None:
    """Stores matrices of constants that sums of products read in the 16 bits that hold them; all kernels that read them widen them."""
    with ProgramRewriter(program) as rewriter:
        readers: dict[Slot, list[tuple[Kernel, int]]] = {}
        for k, calls in rewriter.calls.items():
            for n in range(len(k.inputs)):
                for s in calls:
                    readers.setdefault(s.inputs[n].resolve(), []).append((k, n))
        fixed = fixed_slots(program)
        narrow = {c: d for c, kernels in readers.items() if c not in fixed and (d := _dtype(c, kernels, target))}
        changed: dict[tuple[Kernel, tuple[str, ...]], Kernel] = {}
        for k, calls in rewriter.calls.items():
            for s in calls:
                _narrow_inputs(rewriter, k, s, narrow, changed)


def _narrow_inputs(
    rewriter: ProgramRewriter,
    k: Kernel,
    s: RunKernel,
    narrow: dict[Slot, str],
    changed: dict[tuple[Kernel, tuple[str, ...]], Kernel],
) -> None:
    dtypes = tuple(narrow.get(slot.resolve(), "") for slot in s.inputs)
    if not any(dtypes):
        return
    if (k, dtypes) not in changed:
        changed[k, dtypes] = _widening(k, dtypes)
    for n, d in enumerate(dtypes):
        if d:
            s.inputs[n] = rewriter.derive(s.inputs[n].resolve(), f"in {d}", lambda data, d=d: _stored(data, d), dtype=d)  # type: ignore[misc]  # mypy infers no lambda with a default
    rewriter.replace([s], changed[k, dtypes])


def _dtype(c: Slot, readers: list[tuple[Kernel, int]], target: VectorTarget) -> str:
    """The dtype of 16 bits that holds all elements of a matrix, if kernels may widen it and one sums products of it; otherwise empty. Matrices that
    stay in the L2 cache stay as they are."""
    if c.kind != CONSTANT or c.dtype != _WIDE or len(c.shape) != 2 or c.nbytes <= target.packed_bytes:
        return ""
    if any(k.finished or any(isinstance(f, Steps) for f in k.stages) for k, _ in readers):
        return ""
    if not any(_is_summed(f, k.inputs[n]) for k, n in readers for f in k.stages):
        return ""
    data = c.data
    return next(
        (d for d in ("float16", "bfloat16") if _holds(d, data[:1]) and _holds(d, data)), ""
    )  # most fail in the first row


def _is_summed(form: AnyForm, buffer: Buffer) -> bool:
    return isinstance(form, Reduction) and buffer in buffers_read(form)


def _stored(data: Any, dtype: str) -> Any:
    """The elements in 16 bits, those of bfloat16 as their bits."""
    import numpy as np

    if dtype == "bfloat16":
        return (np.ascontiguousarray(data).view("uint32") >> np.uint32(16)).astype("uint16")
    with np.errstate(over="ignore"):
        return data.astype(dtype)


def _holds(dtype: str, data: Any) -> bool:
    """True if each element has the same bits after a conversion to the dtype and back."""
    import numpy as np

    data = np.ascontiguousarray(data)
    again = np.ascontiguousarray(numbers(_stored(data, dtype), dtype).astype(_WIDE))
    return bool((again.view("uint32") == data.view("uint32")).all())


def _widening(k: Kernel, dtypes: tuple[str, ...]) -> Kernel:
    """The kernel with inputs of these dtypes, where one is given."""
    narrow = {b: b.replace(dtype=d) for b, d in zip(k.inputs, dtypes, strict=True) if d}

    def widened(e: Load) -> Expr:
        return Cast(Load(narrow[e.source], e.indices), _WIDE) if e.source in narrow else e  # type: ignore[index,arg-type]  # keys are buffers

    params = [narrow.get(p, p) for p in k.params]
    stages = [f if isinstance(f, Steps) else rewrite_loads(f, widened) for f in k.stages]
    return k.with_stages(stages, params=params)
