"""Replaces products by products of halves, in a program with final layouts."""

from __future__ import annotations

from typing import Any

from ....tir.program import Program
from ....tir.stmt import Layout
from ....tir.vector_target import VectorTarget
from ...constants.derived_stages import Algorithm, DerivedWeights, derive_stages, unpack
from .algorithm import PRODUCTS, WEIGHTS
from .choice import choose_tiling, saved_cycles, tiling_by_hand
from .form import ProductOfHalves
from .product import Product, find_product
from .tiling import Tiling
from .weights import add_quarters, are_even, quarters


def halve_products(program: Program, target: VectorTarget) -> None:
    """Replaces every product that is faster by halves, if its weights are constants in all calls."""
    strassen = Algorithm(
        name="strassen",
        find=find_product,
        by_hand=tiling_by_hand,
        choose=choose_tiling,
        saved=saved_cycles,
        weights=_halved_weights,
        form=ProductOfHalves.of,
        suits=_are_even,
    )
    derive_stages(program, target, strassen)


def _are_even(p: Product, data: Any) -> bool:
    return are_even(data, p.order)


def _halved_weights(p: Product, t: Tiling) -> DerivedWeights:
    order, columns = p.order, t.columns

    def compute(data: Any, layout: Layout | None) -> Any:
        return add_quarters(unpack(data, layout), order, columns)

    def plain(data: Any, layout: Layout | None) -> Any:
        return quarters(unpack(data, layout), order, columns)

    half = p.filters[1] // 2
    shape = (half // columns, PRODUCTS, p.channel[1] // 2 * p.windows, columns)
    matrix = tuple(tuple(float(sign) for sign in row) for row in WEIGHTS)
    return DerivedWeights("halved", shape, (order, columns), compute, plain, matrix)
