"""Kernels share the rows of an image that the kernels before them shared: what they do to their loops for that."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.driver.prepare import prepare
from irtool.driver.stages import run_stages
from irtool.schedule.core.data_affinity import is_same, shares_inside
from irtool.schedule.graph.threads import all_shared_loops
from irtool.tir.expr import Var
from irtool.tir.program import runs_of
from irtool.tir.stmt import Buffer, Scope
from irtool.tir.vector_target import VectorTarget

WIDE = VectorTarget(64, 32)

BLOCK = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 16, 28, 28), float32], %a: Tensor[({wide}, 16, 1, 1), float32],
          %d: Tensor[({wide}, 1, 3, 3), float32], %b: Tensor[(16, {wide}, 1, 1), float32]) {{
  %0 = nn.relu(nn.conv2d(%x, %a, padding=[0, 0, 0, 0]));
  %1 = nn.relu(nn.conv2d(%0, %d, groups={wide}, padding=[1, 1, 1, 1]));
  add(nn.conv2d(%1, %b, padding=[0, 0, 0, 0]), %x)
}}
"""


def weights(wide: int) -> dict[str, np.ndarray]:
    chance = np.random.default_rng(0)
    shapes = {"a": (wide, 16, 1, 1), "d": (wide, 1, 3, 3), "b": (16, wide, 1, 1)}
    return {n: chance.uniform(-1, 1, s).astype("float32") for n, s in shapes.items()}


@pytest.mark.promise("threads in teams")
@pytest.mark.parametrize("wide", [96, 144])
def test_a_bottleneck_shares_rows_throughout(wide: int) -> None:
    """Of all its kernels, the largest loop that threads share begins its second half in the middle of the rows."""
    module = irtool.infer_types(prepare(irtool.parse(BLOCK.format(wide=wide)), weights(wide)))
    program = run_stages(module, ["main"], WIDE)
    halved = []
    for k, runs in runs_of(program).items():
        loops = [c for n in k.nests for c in all_shared_loops(n)]
        assert runs and loops
        names = [k.halves.get(c[0].var, c[0].var).name for c in loops]
        halved.append(names[0])
    assert [n.startswith(("ax2", "band")) for n in halved] == [True] * len(halved), halved


@pytest.mark.promise("threads in teams")
def test_columns_of_an_image_are_made_row_by_row(tmp_path: Path) -> None:
    """The first and the last column of a padded depthwise convolution, and those between, are in one loop over the rows."""
    irtool.build(irtool.parse(BLOCK.format(wide=144)), weights(144), mcpu="x86-64-v4", openmp=True, out_dir=tmp_path)
    source = next(tmp_path.glob("*.c")).read_text()
    begin = source.index("_fused_nn_conv2d_nn_relu_1(const float")
    kernel = source[begin : source.index("#else", begin)]
    assert kernel.count("irt_first(worker") == 1
    assert "ax2 == end" in kernel


@pytest.mark.promise("threads in teams")
def test_results_stay_the_same(tmp_path: Path) -> None:
    module, chance = irtool.parse(BLOCK.format(wide=144)), np.random.default_rng(1)
    x = chance.uniform(-1, 1, (1, 16, 28, 28)).astype("float32")
    want = irtool.evaluate(module, {"x": x, **weights(144)})
    for options in ({"openmp": True}, {"vector": False}, {"mcpu": "x86-64-v3"}):
        got = irtool.build(module, weights(144), **options).run([x])
        np.testing.assert_allclose(got, want, atol=1e-4, rtol=1e-4)


@pytest.mark.promise("threads in teams")
def test_which_loop_threads_should_share() -> None:
    """Weights that each thread reads twice against an image part of which another one wrote."""
    o, y = Var("o"), Var("y")

    def inside(weights: int, image: int) -> bool:
        w, x = (Buffer(n, [size // 4], scope=Scope.PARAM) for n, size in (("w", weights), ("x", image)))
        return shares_inside({w: {o}, x: {y}}, {o}, {y}, WIDE)

    assert inside(98304, 50176)
    assert not inside(301056, 87808)
    assert not inside(WIDE.l2_cache_bytes, 64 << 20), "more than stays in the second cache"
    w, x = (Buffer(n, [4096], scope=Scope.PARAM) for n in ("w", "x"))
    assert not shares_inside({w: set(), x: {o, y}}, {o}, {y}, WIDE), (
        "all threads read the weights, whichever loop they share"
    )


@pytest.mark.promise("threads in teams")
def test_the_same_part_of_an_image() -> None:
    assert is_same(100352, 100224), "tiles of 9 columns end behind the rows"
    assert not is_same(100352, 802816)
    assert not is_same(0, 64) and is_same(0, 0)
