"""Passes on layers of every rank, layout and dtype: the module stays well-typed, and the values stay."""

from __future__ import annotations

import pytest

import irtool
from irtool.diagnostics import InternalError, IrError
from irtool.interp.random_inputs import random_inputs
from irtool.passes.instruments.values import difference
from irtool.passes.instruments.verifying import Verifying
from tests.layers import random_layers
from tests.passes.pipelines import PIPELINES, REFUSES, TARGET, TOLERANCES, last

EVERY_PASS, WHERE_LAYERS_MEET = range(12), range(12, 216)
OF_LAYERS = (
    "CombineParallelDense{min_num_branches=2}",
    "CombineParallelDense{min_num_branches=2 to_batch=False}",
    "CombineParallelConv2D{min_num_branches=2}",
    "CombineParallelBatchMatmul{min_num_branches=2}",
    "FoldScaleAxis",
    "MergeComposite{pattern_table=bnns}",
)
"""Passes that look at several layers, or at what stands behind one; they get more modules than the others."""


def check(seed: int, pipelines: tuple[str, ...]) -> int:
    """Runs each pipeline on one module of layers; how many of them changed it."""
    module = random_layers(seed)
    inputs = random_inputs(module["main"], seed)  # type: ignore[arg-type]
    want = irtool.evaluate(module, inputs)
    changed = 0
    for pipeline in pipelines:
        try:
            after = irtool.run_passes(module, pipeline, opt_level=4, target=TARGET, instruments=[Verifying()])
        except IrError as error:
            if last(pipeline) in REFUSES and not isinstance(error, InternalError):
                continue
            raise AssertionError(f"{pipeline} on layers {seed}: {error}") from error
        if after is not module:
            changed += 1
            rtol, atol = TOLERANCES["FastMath"] if "O4" in pipeline else TOLERANCES.get(last(pipeline), (1e-3, 1e-4))
            worst = difference(want, irtool.evaluate(after, inputs), rtol, atol)
            assert worst is None, f"{pipeline} on layers {seed}: {worst}"
    return changed


@pytest.mark.parametrize("seed", EVERY_PASS)
def test_every_pass_keeps_values(seed: int) -> None:
    check(seed, tuple(PIPELINES))


def test_passes_on_several_layers_keep_values() -> None:
    """Branches of dense layers, products and convolutions, and the chains behind them."""
    assert sum(check(seed, OF_LAYERS) for seed in WHERE_LAYERS_MEET) > 40
