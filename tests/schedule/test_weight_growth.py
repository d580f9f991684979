"""The limit of the bytes that weights of transformed convolutions and products of halves add."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.backends import fast_products
from irtool.backends.fast_products import with_products
from irtool.driver.prepare import prepare
from irtool.lower import lower_module
from irtool.passes.core.bind import bind_params
from irtool.schedule import VectorTarget, schedule_program
from irtool.schedule.strategies.winograd.form import TransformedTiles
from irtool.tir.vector_target import WeightGrowth
from tests.schedule.programs import V, values

CHANNELS = 32
PLAIN = CHANNELS * CHANNELS * 9 * 4
"""Bytes of the weights of a 3 x 3 convolution."""


def growing(*images: int) -> irtool.Module:
    """Independent networks of a 3 x 3 convolution between two others, as blocked layouts are for what lies between. Their inputs have
    `images` images each: the more, the more cycles are saved for the same weights."""
    names, c = range(len(images)), CHANNELS
    parameters = [
        f"%x{n}: Tensor[({count}, 8, 28, 28), float32], %u{n}: Tensor[({c}, 8, 1, 1), float32],"
        f" %w{n}: Tensor[({c}, {c}, 3, 3), float32], %v{n}: Tensor[(8, {c}, 1, 1), float32]"
        for n, count in zip(names, images)
    ]
    results = [
        f"nn.conv2d(nn.relu(nn.conv2d(nn.relu(nn.conv2d(%x{n}, %u{n})), %w{n}, padding=[1, 1, 1, 1])), %v{n})"
        for n in names
    ]
    return irtool.infer_types(irtool.parse(f"{V}def @main({', '.join(parameters)}) {{\n  ({', '.join(results)})\n}}\n"))


def weights_of(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that are no inputs of the networks."""
    return {name: array for name, array in arrays.items() if not name.startswith("x")}


def transformed(images: Sequence[int], growth: WeightGrowth | None, winograd: str = "auto") -> dict[int, int]:
    """By the number of images, the rows of results of a tile of each convolution that is transformed."""
    module = growing(*images)
    program = lower_module(prepare(bind_params(module, weights_of(values(module)))))
    schedule_program(program, VectorTarget(64, 32, growth=growth, winograd=winograd))
    forms = [form for k in program.kernels for form in k.stages if isinstance(form, TransformedTiles)]
    grown = sum(f.weights.nbytes - PLAIN for f in forms)
    assert growth is None or winograd != "auto" or grown <= growth.limit(len(images) * (PLAIN + 2 * CHANNELS * 8 * 4))
    return {f.convolution.images: f.tiling.size for f in forms}


def test_without_a_limit_all_are_transformed() -> None:
    assert transformed([1, 2, 4], None) == {1: 4, 2: 4, 4: 4}


def test_stages_that_save_least_for_their_bytes_give_way() -> None:
    """Tiles of 4 x 4 results have 36 numbers for 9 of a window; those of 2 x 2 results have 16."""
    large, small = 3 * PLAIN, PLAIN * 7 // 9
    assert transformed([1, 2, 4], WeightGrowth(0, 3 * large)) == {1: 4, 2: 4, 4: 4}
    assert transformed([1, 2, 4], WeightGrowth(0, 2 * large + small)) == {1: 2, 2: 4, 4: 4}
    assert transformed([4, 1, 2], WeightGrowth(0, large + 2 * small)) == {1: 2, 2: 2, 4: 4}
    assert transformed([1, 2, 4], WeightGrowth(0, small)) == {4: 2}
    assert transformed([1, 2, 4], WeightGrowth(0, small - 1)) == {}


def test_limit_is_a_share_of_all_weights_or_a_number_of_bytes() -> None:
    assert WeightGrowth(0.5, 100).limit(1000) == 500
    assert WeightGrowth(0.5, 100).limit(10) == 100
    assert transformed([1, 2, 4], WeightGrowth(3.0, 0)) == {1: 4, 2: 4, 4: 4}
    assert transformed([1, 2, 4], WeightGrowth(2.2, 0)) == {1: 2, 2: 4, 4: 4}


def test_no_limit_for_what_the_target_asks_for() -> None:
    assert transformed([1, 2], WeightGrowth(0, 0), winograd="4") == {1: 4, 2: 4}


@pytest.mark.parametrize("opt, is_limited", [("balanced", True), ("speed", False), ("size", False)])
def test_options_set_the_limit(opt: str, is_limited: bool) -> None:
    assert (with_products(VectorTarget(64, 32), "auto", "auto", "fast", opt).growth is not None) == is_limited


def test_network_with_one_transformed_convolution_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two convolutions one is within the limit: the results are the interpreter's."""
    module = growing(1, 2)
    monkeypatch.setattr(fast_products, "BALANCED", WeightGrowth(0, PLAIN * 7 // 9))
    inputs = values(module)
    artifact = irtool.build(module, weights_of(inputs), target="c{mcpu=native}", cache=False)
    assert [k["strategy"] for k in artifact.report["kernels"]].count("winograd") == 1
    actual = artifact.run([inputs["x0"], inputs["x1"]])
    for a, b in zip(actual, irtool.evaluate(module, list(inputs.values())), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5 * np.abs(b).max())
