"""Channels of which the last vector is a half: they lie beside each other, in whole vectors and a tail."""

import numpy as np
import pytest

import irtool
from irtool.driver.options import choose_options
from irtool.driver.parameters import bind_weights
from irtool.driver.prepare import prepare_entries
from irtool.driver.stages import run_stages
from irtool.infer import require_types
from irtool.tir.vector_target import VectorTarget

WIDE = VectorTarget(64, 32)


def separable(channels: int, window: int = 1) -> tuple[str, dict[str, np.ndarray]]:
    """Two depthwise convolutions, each with a dense one behind it, as text, and their weights."""
    c, k, edge = channels, window, window // 2
    text = f"""#[version = "0.0.5"]
    def @main(%x: Tensor[(1, 16, 9, 9), float32], %i: Tensor[({c}, 16, 1, 1), float32],
              %d: Tensor[({c}, 1, 3, 3), float32], %w: Tensor[({c}, {c}, {k}, {k}), float32],
              %e: Tensor[({c}, 1, 3, 3), float32], %v: Tensor[({c}, {c}, {k}, {k}), float32]) {{
      %0 = nn.conv2d(%x, %i, padding=[0, 0], channels={c}, kernel_size=[1, 1]);
      %1 = nn.conv2d(%0, %d, padding=[1, 1], groups={c}, channels={c}, kernel_size=[3, 3]);
      %2 = nn.conv2d(%1, %w, padding=[{edge}, {edge}], channels={c}, kernel_size=[{k}, {k}]);
      %3 = nn.relu(%2);
      %4 = nn.conv2d(%3, %e, padding=[1, 1], groups={c}, channels={c}, kernel_size=[3, 3]);
      nn.conv2d(%4, %v, padding=[{edge}, {edge}], channels={c}, kernel_size=[{k}, {k}]) }}"""
    random = np.random.default_rng(channels)
    shapes = {"i": (c, 16, 1, 1), "d": (c, 1, 3, 3), "e": (c, 1, 3, 3), "w": (c, c, k, k), "v": (c, c, k, k)}
    return text, {n: (random.standard_normal(s) / 8).astype("float32") for n, s in shapes.items()}


def blocks_of_temporaries(text: str, weights: dict[str, np.ndarray]) -> set[int]:
    """How many channels lie beside each other in what kernels leave for each other."""
    options = choose_options("c", ({"mcpu": "native"},))
    source = bind_weights(irtool.infer_types(irtool.parse(text)), weights, ("main",), None)
    prepared = prepare_entries(require_types(source, ("main",)), options, ())
    program = run_stages(prepared, ("main",), WIDE, ())
    layouts = [b.layout for k in program.kernels for b in k.outputs if b.layout is not None]
    return {layout[-1][2] for layout in layouts}


@pytest.mark.parametrize(
    ("channels", "window", "block"), [(40, 1, 40), (72, 1, 72), (48, 1, 16), (24, 1, 8), (40, 3, 8)]
)
def test_channels_lie_in_blocks_or_all_beside_each_other(channels: int, window: int, block: int) -> None:
    assert block in blocks_of_temporaries(*separable(channels, window))


@pytest.mark.parametrize("channels", [40, 56, 72, 200])
def test_results_are_those_of_the_interpreter(channels: int) -> None:
    text, weights = separable(channels)
    x = np.random.default_rng(1).standard_normal((1, 16, 9, 9)).astype("float32")
    module = irtool.parse(text)
    expected = np.asarray(irtool.evaluate(module, {"x": x, **weights}))
    actual = np.asarray(irtool.build(module, weights).run([x]))
    assert np.abs(actual - expected).max() <= 1e-5 * np.abs(expected).max()
