"""The four networks of MLPerf Tiny on emulated boards: in 8 bits to the last bit, in float32 up to rounding."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from benchmarks.networks.mlperf_tiny import NETWORKS, float_network, int8_network
from irtool.passes.core.bind import bind_params
from tests.boards.tools import require_board

MACS = {
    "keyword_spotting": 2_656_768,
    "visual_wake_words": 7_489_664,
    "image_classification": 12_501_632,
    "anomaly_detection": 264_192,
}
"""Multiply-adds of the networks, with the products of the padding."""


def data(module: irtool.Module) -> np.ndarray:
    shape = tuple(int(d) for d in module["main"].params[0].checked_type.shape)
    return np.random.default_rng(5).uniform(-1, 1, shape).astype("float32")


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_have_their_sizes(name: str) -> None:
    module, weights = float_network(name)
    report = irtool.build(module, weights, "c{vector=none}", emit="tir").report
    assert report["macs"] == MACS[name]


@pytest.mark.parametrize(
    ("name", "board", "most"),
    [
        ("keyword_spotting", "mps2-an386", 10_048),
        ("visual_wake_words", "mps2-an386", 38_464),
        ("image_classification", "mps2-an386", 34_496),
        ("image_classification", "mps3-an547", 34_496),
    ],
)
def test_arenas_are_small(name: str, board: str, most: int) -> None:
    require_board(board)
    module = irtool.infer_types(bind_params(*int8_network(name)))
    assert irtool.build(module, board=board, emit="tir").arena_bytes + 64 <= most  # and its alignment


@pytest.mark.parametrize(("board", "dtype"), [("mps2-an386", "uint8"), ("mps3-an547", "uint8"), ("mps3-an547", "int8")])
@pytest.mark.parametrize("name", NETWORKS)
def test_integers_are_those_of_the_interpreter(name: str, board: str, dtype: str) -> None:
    require_board(board)
    module = irtool.infer_types(bind_params(*int8_network(name, dtype=dtype, softmax=False)))
    x = data(module)
    artifact = irtool.build(module, board=board, emit="exe")
    np.testing.assert_array_equal(artifact.run([x]), irtool.evaluate(module, [x]))


@pytest.mark.parametrize("board", ["mps2-an386", "riscv32-virt"])
@pytest.mark.parametrize("name", NETWORKS)
def test_floats_agree(name: str, board: str) -> None:
    require_board(board)
    module, weights = float_network(name)
    x = data(module)
    expected = np.asarray(irtool.evaluate(module, {"data": x, **weights}))
    result = irtool.build(module, weights, board=board, emit="exe").run([x])
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-4 * np.abs(expected).max())
