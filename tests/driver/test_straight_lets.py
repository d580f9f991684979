"""Programs that name their values are compiled as those that do not: names of values are no places to store them."""

from __future__ import annotations

import numpy as np
import pytest

import irtool

T = "Tensor[(4, 8), float32]"
CHAIN = f"""#[version = "0.0.5"]
def @main(%x: {T}, %y: {T}) {{
  let %a = add(%x, %y);
  let %b = tanh(%a);
  let %c = multiply(%b, %a);
  (%c, subtract(%c, %x))
}}"""
BRANCH = f"""#[version = "0.0.5"]
def @main(%x: {T}, %c: bool) {{
  let %a = tanh(%x);
  let %b = if (%c) {{ add(%a, %x) }} else {{ %x }};
  multiply(%b, %a)
}}"""


@pytest.mark.parametrize("passes", ["InferType", "FirstOrderGradient"])
def test_names_change_no_kernel(passes: str) -> None:
    named = irtool.run_passes(irtool.parse(CHAIN), f"ToGraphNormalForm,{passes},ToANormalForm")
    graph = irtool.run_passes(named, "ToGraphNormalForm")
    of_names, of_graph = (irtool.build(m, emit="c") for m in (named, graph))
    kernels = [[k["name"] for k in a.report["kernels"]] for a in (of_names, of_graph)]
    assert kernels[0] == kernels[1]
    assert of_names.arena_bytes == of_graph.arena_bytes


def test_values_of_branches_stay_where_they_are() -> None:
    module = irtool.parse(BRANCH)
    arrays = [np.random.RandomState(0).normal(size=(4, 8)).astype("float32"), np.array(True)]
    np.testing.assert_allclose(irtool.build(module).run(arrays), irtool.evaluate(module, arrays), rtol=1e-6)
