"""Every pass on random programs that read and write references: effects stay, in their order, as often as before."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.diagnostics import InternalError, IrError
from irtool.passes.instruments.values import difference
from irtool.passes.instruments.verifying import Verifying
from tests.effects import random_effects
from tests.passes.pipelines import PIPELINES, REFUSES, TARGET, last

EVERY_PASS, MOVING = range(6), range(6, 40)
MOVERS = (
    *("FuseOps", "FoldConstant", "ToGraphNormalForm", "ToANormalForm,ToGraphNormalForm,FuseOps", "FoldScaleAxis"),
    *("DeadCodeElimination{inline_once=True}", "EliminateCommonSubexpr", "ToBasicBlockNormalForm"),
)
"""Passes that move, merge or drop expressions; they get more programs than the others."""


def check(seed: int, pipelines: tuple[str, ...]) -> None:
    module = random_effects(seed)
    inputs = [np.float32(3), np.float32(4)]
    want = irtool.evaluate(module, inputs)
    for pipeline in pipelines:
        try:
            after = irtool.run_passes(module, pipeline, opt_level=4, target=TARGET, instruments=[Verifying()])
        except IrError as error:
            if last(pipeline) in REFUSES and not isinstance(error, InternalError):
                continue
            raise AssertionError(f"{pipeline} on program {seed}: {error}") from error
        worst = difference(want, irtool.evaluate(after, inputs), 1e-3, 1e-4)
        assert worst is None, f"{pipeline} on program {seed}: {worst}"


@pytest.mark.parametrize("seed", EVERY_PASS)
def test_every_pass_keeps_effects(seed: int) -> None:
    check(seed, tuple(PIPELINES))


def test_passes_that_move_expressions_keep_effects() -> None:
    for seed in MOVING:
        check(seed, MOVERS)


RECURSIVE = """#[version = "0.0.5"]
def @count(%n: int32, %r: ref(float32)) -> float32 {
  if (less(%n, 1)) { 0f } else {
    let %w = ref_write(%r, add(ref_read(%r), 1f));
    let %unused = @other(subtract(%n, 1), %r);
    0f
  }
}
def @other(%n: int32, %r: ref(float32)) -> float32 { let %unused = @count(%n, %r); 1f }
def @main(%x: float32) -> float32 {
  let %r = ref(%x);
  let %loop = fn (%n: int32) -> float32 {
    if (less(%n, 1)) { 0f } else {
      let %unused = %loop(subtract(%n, 1));
      let %w = ref_write(%r, multiply(ref_read(%r), 2f));
      0f
    }
  };
  let %a = @other(3, %r);
  let %b = %loop(2);
  let %created = ref(@count(1, %r));
  ref_read(%r)
}
"""


@pytest.mark.parametrize("pipeline", ["DeadCodeElimination", "ToGraphNormalForm", "ToANormalForm,ToGraphNormalForm"])
def test_functions_that_call_themselves_have_effects(pipeline: str) -> None:
    """Their unused calls are needed, inside them and outside, and so are those in the values of references."""
    after = irtool.run_passes(irtool.parse(RECURSIVE), pipeline, instruments=[Verifying()])
    assert irtool.evaluate(after, [np.float32(1)]) == 17.0
