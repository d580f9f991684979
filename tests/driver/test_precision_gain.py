"""`precision="bfloat16"` is never slower than float32: layers that a processor does not compute faster stay what they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.driver.precision import dtype_of_precision, most_uses
from irtool.ir import Module
from irtool.tir.memory import LAST_CACHE
from irtool.tir.vector_target import VectorTarget

AVX2 = VectorTarget(32, 16)
IMAGES = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 16, 20, 20), float32], %w: Tensor[(16, 16, 3, 3), float32], %u: Tensor[(16, 16, 3, 3), float32],
          %d: Tensor[(10, 16), float32]) {
  %0 = nn.relu(nn.conv2d(%x, %w, padding=[1, 1], channels=16, kernel_size=[3, 3]));
  %1 = nn.relu(nn.conv2d(%0, %u, padding=[1, 1], channels=16, kernel_size=[3, 3]));
  nn.dense(nn.batch_flatten(nn.global_avg_pool2d(%1)), %d, units=10)
}
"""
BOTH = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 16, 8, 8), float32], %w: Tensor[(16, 16, 3, 3), float32], %u: Tensor[(512, 1024), float32],
          %d: Tensor[(2, 512), float32]) {
  %0 = nn.relu(nn.conv2d(%x, %w, padding=[1, 1], channels=16, kernel_size=[3, 3]));
  %1 = nn.relu(nn.dense(nn.batch_flatten(%0), %u, units=512));
  nn.dense(%1, %d, units=2)
}
"""


def network(text: str) -> tuple[Module, dict[str, np.ndarray]]:
    module = irtool.infer_types(irtool.parse(text))
    g = np.random.default_rng(0)
    shapes = {p.name: [int(n) for n in p.checked_type.shape] for p in module["main"].params}
    return module, {n: (g.standard_normal(s) / np.sqrt(np.prod(s[1:]))).astype("float32") for n, s in shapes.items()}


def sources(precision: str, folder: Path, text: str, **flags: object) -> tuple[str, dict]:
    module, params = network(text)
    params.pop("x")
    artifact = irtool.build(
        module, params, precision=precision, emit="c", out_dir=folder, name="net", weights="inline", **flags
    )
    return (folder / "net.c").read_text(), artifact.report


def test_instructions_for_products_are_a_gain_for_every_layer_in_their_type() -> None:
    for machine in (VectorTarget(64, 32, paired_products=2), VectorTarget(64, 32, pair_tiles=16)):
        assert most_uses("bfloat16", machine, 1 << 20) == 0
        assert most_uses("float16", machine, 1 << 20) > 0


def test_weights_from_farther_away_may_be_used_oftener() -> None:
    near, far, memory = (most_uses("bfloat16", AVX2, n) for n in (1 << 16, 4 << 20, 2 * LAST_CACHE))
    assert near == 1 < far < memory
    assert most_uses("bfloat16", VectorTarget(64, 32), 4 << 20) == pytest.approx(2 * far, rel=1e-3)
    assert most_uses("bfloat16", AVX2, 0) > 0 and most_uses("bfloat16", VectorTarget(0), 100) > 0


def test_all_layers_can_be_asked_for() -> None:
    for dtype in ("bfloat16", "float16"):
        assert most_uses(f"{dtype}{{layers=all}}", AVX2, 1 << 20) == 0
        assert dtype_of_precision(f"{dtype}{{layers=all}}") == dtype_of_precision(dtype) == dtype


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_a_network_without_a_gain_is_built_as_in_float32(tmp_path: Path, precision: str) -> None:
    flags = {"mcpu": "x86-64-v3"}
    exact, _ = sources("float32", tmp_path / "a", IMAGES, **flags)
    text, report = sources(precision, tmp_path / "b", IMAGES, **flags)
    assert text == exact
    assert report["precision"]["layers"] == report["precision"]["layers_in_float32"] == 2
    (note,) = (n for n in report["warnings"] if "in float32" in n)
    assert "2 of 2 layers stay in float32" in note and f"'{precision}{{layers=all}}'" in note
    small, report = sources(f"{precision}{{layers=all}}", tmp_path / "c", IMAGES, **flags)
    assert small != exact and report["precision"]["layers_in_float32"] == 0
    assert report["precision"]["dtype"] == precision and not any("in float32" in n for n in report["warnings"])


def test_layers_that_wait_for_their_weights_are_rounded_alone(tmp_path: Path) -> None:
    _, report = sources("bfloat16", tmp_path / "a", BOTH, mcpu="x86-64-v3")
    assert (report["precision"]["layers"], report["precision"]["layers_in_float32"]) == (2, 1)
    _, exact = sources("float32", tmp_path / "b", BOTH, mcpu="x86-64-v3")
    assert exact["weight_bytes"] - report["weight_bytes"] == 2 * 512 * 1024
    module, params = network(BOTH)
    x = params.pop("x")
    built = irtool.build(module, params, precision="bfloat16")
    want = np.asarray(irtool.evaluate(module, [x, *params.values()]))
    assert 0 < np.abs(np.asarray(built.run([x])) - want).max() <= 0.02 * np.abs(want).max()


def test_a_processor_with_pairs_rounds_all(tmp_path: Path) -> None:
    _, report = sources("bfloat16", tmp_path, IMAGES, mcpu="sapphirerapids")
    assert report["precision"]["layers_in_float32"] == 0
