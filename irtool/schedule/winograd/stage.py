"""Replaces convolutions by transformed ones, in a program whose layouts are chosen."""

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
from .choice import choose_tiling, tiling_by_hand
from .convolution import Convolution, find_convolution
from .form import TransformedTiles
from .tiling import Tiling
from .weights import transform_weights


def transform_convolutions(program: Program, target: VectorTarget) -> None:
    """Every convolution for which it pays, in kernels whose weights are constants in all calls."""
    derive_stages(program, partial(_found, target))


def _found(target: VectorTarget, k: Kernel, runs: list[RunKernel]) -> DerivedStage | None:
    """A stage, what it computes, and how it is done; None if there is none."""
    constant = constant_inputs(runs)
    main = main_stage(k, target)
    for at in range(len(k.stages)):
        c = find_convolution(k.stages, at, constant)
        tiling = _tiling(k, at, at == main, c, target) if c and constant_weights(k, at, c.weights) else None
        if c is not None and tiling is not None:
            return _transformed(at, c, tiling, target)
    return None


def _tiling(k: Kernel, at: int, main: bool, c: Convolution, target: VectorTarget) -> Tiling | None:
    """The plan for a stage: the one that a script asks for, or what pays; None where it stays as it is."""
    entry, wanted = asked_for(k, at, main, "winograd", c.copy)
    if entry is not None and entry.nest is not None:
        return entry.nest.with_arguments(lambda **arguments: tiling_by_hand(c, **arguments))
    choice = choose_tiling(c, target, wanted) if wanted is not None else None
    return choice.tiling if choice is not None else None


def _transformed(at: int, c: Convolution, t: Tiling, target: VectorTarget) -> DerivedStage:
    order, size, filters = c.order, t.size, t.filters

    def compute(data: Any, layout: Layout | None) -> Any:
        return transform_weights(unpack(data, layout), order, size, filters)

    shape = (c.filters[1] // filters, t.products, c.channel[1], filters)
    weights = DerivedWeights("transformed", shape, (order, size, filters), compute)
    return DerivedStage(at, c.copy, c.weights, weights, c.data.source, lambda w: TransformedTiles.of(c, t, w, target))
