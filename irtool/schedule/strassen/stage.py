"""Replaces products by products of halves, in a program whose layouts are chosen."""

from __future__ import annotations

from functools import partial
from typing import Any

from ...tir.kernel import Kernel
from ...tir.program import Program, RunKernel, constant_inputs
from ...tir.stmt import Layout
from ...tir.vector_target import VectorTarget
from ..derived_stages import (
    DerivedStage,
    DerivedWeights,
    asked_for,
    constant_weights,
    derive_stages,
    main_stage,
    unpack,
)
from .algorithm import PRODUCTS
from .choice import choose_tiling, tiling_by_hand
from .form import ProductOfHalves
from .product import Product, find_product
from .tiling import Tiling
from .weights import add_quarters


def halve_products(program: Program, target: VectorTarget) -> None:
    """Every product for which it pays, in kernels whose weights are constants in all calls."""
    derive_stages(program, partial(_found, target))


def _found(target: VectorTarget, k: Kernel, runs: list[RunKernel]) -> DerivedStage | None:
    """A stage, what it computes, and how it is done; None if there is none."""
    constant = constant_inputs(runs)
    main = main_stage(k, target)
    for at, form in enumerate(k.stages):
        p = find_product(form, constant)
        tiling = _tiling(k, at, at == main, p, target) if p and constant_weights(k, at, p.weights) else None
        if p is not None and tiling is not None:
            return _halved(at, p, tiling, target)
    return None


def _tiling(k: Kernel, at: int, main: bool, p: Product, target: VectorTarget) -> Tiling | None:
    """The plan for a stage: the one that a script asks for, or what pays; None where it stays as it is."""
    entry, wanted = asked_for(k, at, main, "strassen")
    if entry is not None and entry.nest is not None:
        return entry.nest.with_arguments(lambda **arguments: tiling_by_hand(p, **arguments))
    choice = choose_tiling(p, target, wanted) if wanted is not None else None
    return choice.tiling if choice is not None else None


def _halved(at: int, p: Product, t: Tiling, target: VectorTarget) -> DerivedStage:
    order, columns = p.order, t.columns

    def compute(data: Any, layout: Layout | None) -> Any:
        return add_quarters(unpack(data, layout), order, columns)

    half = p.filters[1] // 2
    shape = (half // columns, PRODUCTS, p.channel[1] // 2 * p.windows, columns)
    weights = DerivedWeights("halved", shape, (order, columns), compute)
    return DerivedStage(at, 0, p.weights, weights, p.data.source, lambda w: ProductOfHalves.of(p, t, w, target))
