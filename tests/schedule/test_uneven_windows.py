"""Adaptive pools whose windows differ in size: short windows are expressions of one nest, long ones have a nest each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irtool

CASES = [
    ("avg", (1, 8, 33, 33), (7, 7), "float32", True),
    ("max", (1, 8, 33, 33), (7, 7), "float32", True),
    ("avg", (2, 3, 13, 29), (4, 6), "float64", None),
    ("max", (1, 5, 9, 10), (4, 7), "int32", None),
    ("max", (1, 4, 100, 6), (7, 6), "float32", True),
    ("max", (1, 4, 170, 6), (7, 6), "float32", False),
]


@pytest.mark.parametrize("kind, shape, size, dtype, is_short", CASES)
def test_values(kind: str, shape: tuple[int, ...], size: tuple[int, int], dtype: str, is_short: bool | None) -> None:
    text = f"""#[version = "0.0.5"]
    def @main(%x: Tensor[{shape}, {dtype}]) {{ nn.adaptive_{kind}_pool2d(%x, output_size={list(size)}) }}"""
    module = irtool.parse(text)
    x = (np.random.RandomState(0).uniform(-9, 9, shape)).astype(dtype)
    x.flat[::7] = 0
    for vector in ("auto", "none"):
        built = irtool.build(module, cflags="-O1", vector=vector)
        np.testing.assert_allclose(built.run([x]), irtool.evaluate(module, [x]), rtol=1e-5, atol=1e-6)
    reasons = [k["reason"] for k in built.report["kernels"]]
    if is_short is not None:  # of other types other strategies may be chosen
        assert any("in one expression each" in s for s in reasons) == is_short, reasons


def test_the_code_and_the_workspace_are_small(tmp_path: Path) -> None:
    text = """#[version = "0.0.5"]
    def @main(%x: Tensor[(1, 64, 33, 33), float32]) { nn.adaptive_avg_pool2d(%x, output_size=[7, 7]) }"""
    built = irtool.build(irtool.parse(text), emit="c", mcpu="native", out_dir=tmp_path)
    assert len((tmp_path / "model.c").read_text().splitlines()) < 500  # 2,390 with a nest for each window
    assert built.arena_bytes <= 16_384  # 236 KB, or 59 KB, where all rows were combined before any column


@pytest.mark.parametrize("machine", ["neoverse-v1", "zen2", "no-caches"])
@pytest.mark.parametrize("size", [[7, 7], [5, 7], [7, 3]])
def test_averages_of_rows_of_different_sizes(machine: str, size: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """The divisor of a sum depends on the row as well."""
    monkeypatch.setenv("IRTOOL_MACHINE", machine)
    text = f"""#[version = "0.0.5"]
    def @main(%x: Tensor[(1, 9, 33, 31), float32]) {{ nn.adaptive_avg_pool2d(%x, output_size={size}) }}"""
    module, x = irtool.parse(text), np.random.RandomState(0).uniform(-9, 9, (1, 9, 33, 31)).astype("float32")
    np.testing.assert_allclose(
        irtool.build(module, cflags="-O1").run([x]), irtool.evaluate(module, [x]), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("channels", [64, 67])
@pytest.mark.parametrize("dtype", ["float32", "int8", "float64"])
def test_windows_along_rows_are_reduced_in_transposed_rows(dtype: str, channels: int) -> None:
    text = f"""#[version = "0.0.5"]
    def @main(%x: Tensor[(1, {channels}, 33, 33), {dtype}]) {{ nn.adaptive_max_pool2d(%x, output_size=[7, 7]) }}"""
    module = irtool.parse(text)
    x = np.random.RandomState(0).uniform(-99, 99, (1, channels, 33, 33)).astype(dtype)
    if dtype != "int8":
        x.flat[::97] = np.nan
    built = irtool.build(module, mcpu="x86-64-v3")
    np.testing.assert_array_equal(built.run([x]), irtool.evaluate(module, [x]))
    names = [s["strategy"] for k in built.report["kernels"] for s in k.get("stages", [k])]
    assert dtype != "float32" or "transposed_rows" in names, names
