"""Replaces convolutions by transformed ones, in a program with final layouts."""

from __future__ import annotations

from typing import Any

from ....tir.program import Program
from ....tir.stmt import Layout
from ....tir.vector_target import VectorTarget
from ...constants.derived_stages import Algorithm, DerivedWeights, derive_stages, unpack
from ...cost.winograd import better_transform, saved_cycles
from .convolution import Convolution
from .find import find_convolution
from .form import TransformedTiles
from .plans import tiling_by_hand
from .tiling import Tiling
from .weights import WindowShape, plain_weights, transform_matrix, transform_weights


def transform_convolutions(program: Program, target: VectorTarget) -> None:
    """Transforms every convolution that is faster so, if its weights are constants in all calls."""
    winograd = Algorithm(
        name="winograd",
        find=find_convolution,
        by_hand=tiling_by_hand,
        choose=_choose_tiling,
        saved=saved_cycles,
        weights=_transformed_weights,
        form=TransformedTiles.of,
        lesser=_lesser_tiling,
    )
    derive_stages(program, target, winograd)


def _choose_tiling(c: Convolution, target: VectorTarget, label: str, stack_limit: float) -> Tiling | None:
    transform = better_transform(c, target, label, stack_limit)
    return transform.tiling if transform is not None else None


def _lesser_tiling(c: Convolution, t: Tiling, target: VectorTarget, stack_limit: float) -> Tiling | None:
    """A plan with smaller tiles."""
    transform = better_transform(c, target, "", stack_limit, most=t.size - 1)
    return transform.tiling if transform is not None else None


def _transformed_weights(c: Convolution, t: Tiling) -> DerivedWeights:
    order, size, filters = c.order, t.size, t.filters
    windows = WindowShape(t.taps, t.strides, c.parts)
    steps = range(c.skipped_steps, c.skipped_steps + c.steps)

    def compute(data: Any, layout: Layout | None) -> Any:
        return transform_weights(unpack(data, layout), order, size, windows, filters, steps)

    def plain(data: Any, layout: Layout | None) -> Any:
        return plain_weights(unpack(data, layout), order, windows, filters, steps)

    shape = (c.filters[1] // filters, t.products, c.steps, filters)
    matrix = transform_matrix(size, windows)
    return DerivedWeights("transformed", shape, (order, size, windows, filters, steps), compute, plain, matrix)
