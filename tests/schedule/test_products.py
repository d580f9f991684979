"""Sums of products: their operands, the constant one, axes of rows and columns, and the elements of padded axes."""

from __future__ import annotations

import pytest

import irtool
from irtool.driver.prepare import prepare
from irtool.lower import lower_module
from irtool.schedule.core.guards import existing_elements
from irtool.schedule.core.products import loops_of_one, sum_of_products
from irtool.tir.expr import Var
from irtool.tir.forms import Reduction
from irtool.tir.kernel import Kernel
from irtool.tir.simplify import Simplifier


def kernel_of(params: str, call: str) -> Kernel:
    (kernel,) = lower_module(prepare(irtool.parse(f'#[version = "0.0.5"]\ndef @main({params}) {{ {call} }}\n'))).kernels
    return kernel


def reduction_of(params: str, call: str) -> tuple[Kernel, Reduction]:
    kernel = kernel_of(params, call)
    (r,) = (f for f in kernel.stages if isinstance(f, Reduction))
    return kernel, r


X, W = "%x: Tensor[(5, 8), float32]", "%w: Tensor[(6, 8), float32]"


def test_rows_and_columns_of_a_product() -> None:
    kernel, r = reduction_of(f"{X}, {W}", "nn.dense(%x, %w, units=6)")
    product = sum_of_products(r)
    assert product is not None
    assert {product.a.source, product.b.source} == {*kernel.inputs}
    for x, w in ((product.a, product.b), (product.b, product.a)):
        extents = [n for _, n in loops_of_one(r.loops, x, w)]
        assert extents == [5 if x.source.shape[0] == 5 else 6]
    assert not loops_of_one(r.inner, product.a, product.b)


@pytest.mark.parametrize("constants", [(0,), (1,), (0, 1), ()])
def test_each_constant_operand_can_be_the_weights(constants: tuple[int, ...]) -> None:
    kernel, r = reduction_of(f"{X}, {W}", "nn.dense(%x, %w, units=6)")
    product = sum_of_products(r)
    assert product is not None
    pairs = list(product.with_weights([kernel.inputs[n] for n in constants]))
    assert {kernel.inputs.index(w.source) for _, w in pairs} == {*constants}
    assert all(d.source is not w.source for d, w in pairs)


@pytest.mark.parametrize(
    "call",
    ["sum(%x, axis=[1])", "max(%x, axis=[1])", "sum(multiply(multiply(%x, %x), %x), axis=[1])", "sum(add(%x, %x), axis=[1])"],
)  # fmt: skip
def test_other_reductions_are_none(call: str) -> None:
    _, r = reduction_of(X, call)
    assert sum_of_products(r) is None


def test_narrow_operands_are_those_before_they_are_widened() -> None:
    params = "%x: Tensor[(5, 8), bfloat16], %w: Tensor[(6, 8), bfloat16]"
    _, r = reduction_of(params, 'nn.dense(%x, %w, units=6, out_dtype="float32")')
    product = sum_of_products(r)
    assert product is not None and product.a.dtype == product.b.dtype == "bfloat16"


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("shift", [-3, 0, 2])
def test_elements_that_exist(stride: int, shift: int) -> None:
    """Guards about an index limit its axis, from either side; others are left. `index >= low`, `index <= high`."""
    y, k, other = Var("y"), Var("k"), Var("other")
    simplify = Simplifier({y: (0, 9), k: (0, 2), other: (0, 3)})
    index = y * stride + k + shift
    for low in (-1, 0, 2):
        for high in (5, 7, 11):
            about = [simplify(index - low), simplify(high - index)]
            first, last, left = existing_elements(index, 8, [*about, other - 1], simplify)
            assert (first, last) == (max(0, low), min(7, high))
            assert len(left) == 1
    assert existing_elements(index, 8, [], simplify) == (0, 7, [])
