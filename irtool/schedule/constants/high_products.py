"""Fixed-point products by the high halves of 64-bit products, on processors with little memory.

    int32(int64(x) * m + r >> s)      ⇒      int32(int64(x) * m' >> 32) + r' >> (s' & 31)      r' = r / 2^32, s' = s - 32

    int32((int64(x) << l) * 5 + r >> 31)              ⇒      int32(int64(x << l + 2) * 5 >> 32) + r' >> 1           where |x| is small

The low half of a product has no part in the result if the rounding term has none, and at least 32 bits are dropped. Processors have an instruction
for the high half (`smmul`, `vmulh`), the shift is one of 32 bits, and the constants take half the memory. Products of int32 by factors of 31 bits
have high halves below 2^30, so that the sum does not overflow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import is_
from typing import Any, NamedTuple

from ...tir import dtypes
from ...tir.expr import Binary, Cast, Const, Expr, Load, const, rewrite
from ...tir.forms import AnyForm, Map, Reduction, buffers_read, expressions_of, rewrite_form
from ...tir.kernel import Kernel
from ...tir.program import Program, RunKernel, Slot, constant_inputs
from ...tir.simplify import Simplifier
from ...tir.stmt import Buffer
from ...tir.vector_target import VectorTarget
from ..core.program_rewriter import ProgramRewriter
from ..core.scalar_constants import scalar_constants

_HALF = 32
"""The bits of a half of a product."""


class _Product(NamedTuple):
    """A fixed-point product: a 32-bit number and the reads of a factor, a rounding term and a shift."""

    number: Expr
    factor: Load
    rounding: Load
    shift: Load

    @property
    def constants(self) -> tuple[Load, Load, Load]:
        return self.factor, self.rounding, self.shift


def use_high_products(program: Program, target: VectorTarget) -> None:
    """Computes fixed-point products of constants by high halves in all kernels whose constants allow it."""
    if not target.has_little_memory:
        return
    with ProgramRewriter(program) as rewriter:
        for kernel, calls in rewriter.open_kernels():
            rewriter.replace(calls, _with_literal_products(kernel, [scalar_constants(s) for s in calls]))
    with ProgramRewriter(program) as rewriter:
        for kernel, calls in rewriter.open_kernels():
            constants = set(constant_inputs(calls))
            products = [p for p in _products(kernel.stages) if {x.source for x in p.constants} <= constants]
            if not products or not all(_allows(kernel, s, p) for s in calls for p in products):
                continue
            changed = _with_high_products(kernel, products)
            if changed is None:
                continue
            for s in calls:
                _replace_constants(rewriter, kernel, s, products)
            rewriter.replace(calls, changed)


def _products(stages: Sequence[AnyForm]) -> list[_Product]:
    """The fixed-point products in results of stages."""
    seen: list[_Product] = []

    def note(e: Expr) -> Expr:
        product = _product_of(e)
        if product is not None:
            seen.append(product)
        return e

    for form in stages:
        if isinstance(form, Map | Reduction):
            for s in form.stores:
                rewrite(s.value, note)
    return seen


def _product_of(e: Expr) -> _Product | None:
    """The parts of `int32(int64(x) * m + r >> s)`."""
    shifted = e.value if isinstance(e, Cast) and e.dtype == "int32" else None
    if (
        not isinstance(shifted, Binary)
        or shifted.op != ">>"
        or not isinstance(shifted.a, Binary)
        or shifted.a.op != "+"
    ):
        return None
    product, rounding, shift = shifted.a.a, shifted.a.b, shifted.b
    if not isinstance(product, Binary) or product.op != "*":
        return None
    number, factor = product.a, product.b
    if not isinstance(number, Cast) or number.value.dtype != "int32":
        return None
    if not all(
        isinstance(x, Load) and isinstance(x.source, Buffer) and x.dtype == "int64" for x in (factor, rounding, shift)
    ):
        return None
    assert isinstance(factor, Load) and isinstance(rounding, Load) and isinstance(shift, Load)
    return _Product(number.value, factor, rounding, shift)


def _with_literal_products(kernel: Kernel, calls: Sequence[Mapping[Buffer, Const]]) -> Kernel:
    """The kernel with high halves of products by literals; `calls`: the constants of one element that each of its calls passes."""

    def changed(f: AnyForm) -> AnyForm:
        if not isinstance(f, Map | Reduction):
            return f

        def change(e: Expr) -> Expr:
            high = _by_literals(e, calls)
            return e if high is None else high

        after = rewrite_form(f, change)
        return f if all(map(is_, expressions_of(f), expressions_of(after))) else after

    stages = [changed(f) for f in kernel.stages]
    same = all(a is b for a, b in zip(stages, kernel.stages, strict=True))
    return kernel if same else kernel.replace(stages=stages)


def _by_literals(e: Expr, calls: Sequence[Mapping[Buffer, Const]]) -> Expr | None:
    """The value of `int32((int64(x) << l) * m + r >> s)` by the high half of a product; None of another expression, and if numbers are too large.

    All but the factor are multiplied by the power of two that moves the rounding term to the high half.
    """
    shifted = e.value if isinstance(e, Cast) and e.dtype == "int32" else None
    if not isinstance(shifted, Binary) or shifted.op != ">>" or not isinstance(shifted.b, Const):
        return None
    total, shift = shifted.a, shifted.b.int_value
    if not isinstance(total, Binary) or total.op != "+" or not isinstance(total.b, Const):
        return None
    product, rounding = total.a, total.b.int_value
    if not isinstance(product, Binary) or product.op != "*" or not isinstance(product.b, Const):
        return None
    number, factor, left = product.a, product.b.int_value, 0
    if isinstance(number, Binary) and number.op == "<<" and isinstance(number.b, Const):
        left = number.b.int_value
        number = number.a
    if not isinstance(number, Cast) or number.dtype != "int64" or not dtypes.is_int(number.value.dtype):
        return None
    if not (0 < rounding < 1 << 62 and 0 <= factor < 1 << 31 and 0 <= left < 32 and 0 <= shift < 63):
        return None
    moved = max(0, _HALF - shift, _HALF - (rounding & -rounding).bit_length() + 1)
    low, high = _range(number.value, calls)
    if max(-low, high) >= 1 << max(0, 31 - left - moved) or rounding << moved > 1 << 62 or shift + moved > 63:
        return None
    whole = Binary(
        "*", Cast(_moved(Cast(number.value, "int32"), left + moved), "int64"), const(factor, "int64"), "int64"
    )
    half = Cast(Binary(">>", whole, const(_HALF, "int64"), "int64"), "int32")
    term = const((rounding << moved) >> _HALF, "int32")
    return Binary(">>", Binary("+", half, term, "int32"), const(shift + moved - _HALF, "int32"), "int32")


def _range(e: Expr, calls: Sequence[Mapping[Buffer, Const]]) -> tuple[float, float]:
    """The least and the greatest value of an expression in all calls."""
    ranges = []
    for values in calls:

        def value(x: Expr, values: Mapping[Buffer, Const] = values) -> Expr:
            return values.get(x.source, x) if isinstance(x, Load) and isinstance(x.source, Buffer) else x

        ranges.append(Simplifier().range(rewrite(e, value)))
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def _moved(e: Expr, bits: int) -> Expr:
    return Binary("<<", e, const(bits, "int32"), "int32") if bits else e


def _data_of(kernel: Kernel, s: RunKernel, read: Load) -> Any:
    return s.inputs[kernel.inputs.index(read.source)].resolve().data


def _allows(kernel: Kernel, s: RunKernel, product: _Product) -> bool:
    """True if the low half of the product has no part in the result, and the constants fit in 32 bits."""
    factor, rounding, shift = (_data_of(kernel, s, x) for x in product.constants)
    if not factor.size or factor.min() < 0 or factor.max() >= 1 << 31:
        return False
    if shift.min() < _HALF or shift.max() >= 64:
        return False
    return bool(rounding.min() >= 0 and rounding.max() <= 1 << 62 and (rounding % (1 << _HALF) == 0).all())


def _with_high_products(kernel: Kernel, products: Sequence[_Product]) -> Kernel | None:
    """The kernel on shorter constants; None if it uses them for something else too."""
    short = {x.source: x.source.replace(dtype="int32") for p in products for x in p.constants}

    def change(e: Expr) -> Expr:
        p = _product_of(e)
        if p is None or p.factor.source not in short:
            return e
        factor, rounding, shift = (Load(short[x.source], x.indices) for x in p.constants)
        whole = Binary("*", Cast(p.number, "int64"), Cast(factor, "int64"), "int64")
        high = Cast(Binary(">>", whole, const(_HALF, "int64"), "int64"), "int32")
        bits = Binary("&", shift, const(_HALF - 1, "int32"), "int32")  # says that no shift is longer
        return Binary(">>", Binary("+", high, rounding, "int32"), bits, "int32")

    stages = [
        replace(f, stores=tuple(s.rewritten(lambda e: rewrite(e, change)) for s in f.stores))
        if isinstance(f, Map | Reduction)
        else f
        for f in kernel.stages
    ]
    if not short.keys().isdisjoint(buffers_read(*stages)):
        return None
    return kernel.replace(params=[short.get(p, p) for p in kernel.params], stages=stages)


def _replace_constants(rewriter: ProgramRewriter, kernel: Kernel, s: RunKernel, products: Sequence[_Product]) -> None:
    for p in products:
        for x, moved, lowered in zip(p.constants, (0, _HALF, 0), (0, 0, _HALF), strict=True):
            n = kernel.inputs.index(x.source)
            slot = s.inputs[n].resolve()
            if slot.dtype == "int64":
                s.inputs[n] = _short(rewriter, slot, moved, lowered)


def _short(rewriter: ProgramRewriter, slot: Slot, moved: int, lowered: int) -> Slot:
    """The constant in 32 bits, shifted right by `moved` bits and less by `lowered`."""

    def compute(data: Any) -> Any:
        return ((data >> moved) - lowered).astype("int32")

    return rewriter.derive(slot, ("high product", moved, lowered), compute, slot.shape, "int32")
