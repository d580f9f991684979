"""Constants of 64-bit integers in fewer bits and elements, if kernels compute 32-bit numbers from them.

    int32(int64(x[i, j]) * m[i, j] >> n[i, j])        ⇒        int32(int64(x[i, j]) * int64(m'[i, 0]) >> int64(n'[i, 0]))

Fixed-point products have such factors and shifts. In 32 bits they have the lanes of the numbers that they multiply, and a product
of two 32-bit numbers is one instruction. Constant folding enlarges broadcast constants to full tensors; an axis with equal
elements is reduced to one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...tir.dtypes import int_range
from ...tir.expr import Cast, Expr, Load, const, post_order
from ...tir.forms import AnyForm, Steps, rewrite_loads, stores_of
from ...tir.kernel import Kernel
from ...tir.program import (
    Program,
    Slot,
    constant_inputs,
)
from ...tir.stmt import Buffer
from ...tir.vector_target import VectorTarget
from ..core.affine import loads
from ..core.program_rewriter import ProgramRewriter

_WIDE, _SHORT = "int64", "int32"


def narrow_constants(program: Program, target: VectorTarget) -> None:
    """Gives kernels that compute short numbers from 64-bit ones their 64-bit constants in as few elements and bits as hold
    them."""
    narrowed: dict[Slot, Slot] = {}
    with ProgramRewriter(program) as rewriter:
        for kernel, calls in rewriter.open_kernels():
            wide = [b for b in constant_inputs(calls) if b.dtype == _WIDE]
            for b in wide if _computes_wide(kernel.stages) else []:
                n = kernel.inputs.index(b)
                slots = [s.inputs[n].resolve() for s in calls]
                for c in slots:
                    if c not in narrowed:
                        narrowed[c] = _narrowed(rewriter, c)
                types = {(narrowed[c].shape, narrowed[c].dtype) for c in slots}
                if len(types) > 1 or narrowed[slots[0]] is slots[0] or b not in _read_as_values(kernel.stages):
                    continue
                kernel = _with_input(kernel, n, *types.pop())
                for s, c in zip(calls, slots, strict=True):
                    s.inputs[n] = narrowed[c]
                rewriter.replace(calls, kernel)


def _computes_wide(forms: Sequence[AnyForm]) -> bool:
    """True if a 64-bit number is converted to a shorter one."""
    return not any(isinstance(f, Steps) for f in forms) and any(
        isinstance(e, Cast) and e.value.dtype == _WIDE and e.dtype != _WIDE
        for f in forms
        for s in stores_of(f)
        for e in post_order(s.value)
    )


def _read_as_values(forms: Sequence[AnyForm]) -> set[Buffer]:
    """The buffers whose elements are not used as indices."""
    read = [e for f in forms for s in stores_of(f) for e in loads(*s.indices, s.value)]
    inside = {x.source for e in read for x in loads(*e.indices)}
    return {e.source for e in read} - inside


def _narrowed(rewriter: ProgramRewriter, c: Slot) -> Slot:
    """The same constant in fewer elements or bits; the constant itself if it needs all of them."""
    import numpy as np

    data = c.data
    shape = [1 if n > 1 and (data == data.take([0], axis)).all() else n for axis, n in enumerate(data.shape)]
    low, high = int_range(_SHORT)
    dtype = _SHORT if data.size and low <= data.min() and data.max() <= high else _WIDE
    if (shape, dtype) == (list(c.shape), _WIDE):
        return c

    def compute(data: Any) -> Any:
        return np.ascontiguousarray(data[tuple(slice(n) for n in shape)].astype(dtype))

    return rewriter.derive(c, ("narrow", tuple(shape), dtype), compute, shape, dtype)


def _with_input(kernel: Kernel, n: int, shape: tuple[int, ...], dtype: str) -> Kernel:
    """The kernel with an input of that shape and dtype in place of input `n`."""
    old = kernel.inputs[n]
    new = old.replace(shape=shape, dtype=dtype)

    def other(e: Load) -> Expr:
        if e.source is not old:
            return e
        read = Load(new, tuple(i if d > 1 else const(0, i.dtype) for i, d in zip(e.indices, shape, strict=True)))
        return read if dtype == _WIDE else Cast(read, _WIDE)

    params = [new if p is old else p for p in kernel.params]
    stages = [form if isinstance(form, Steps) else rewrite_loads(form, other) for form in kernel.stages]
    return kernel.replace(params=params, stages=stages)
