"""Elementwise kernels in the copies that their readers make, on processors with little memory."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import irtool

LITTLE = "c{vector=none,stack_bytes=2048}"

READERS = {
    "padded": "nn.conv2d(%0, %w, channels=4, kernel_size=[3, 3], padding=[6, 6, 6, 6])",
    "dilated": "nn.conv2d(%0, %w, channels=4, kernel_size=[3, 3], padding=[2, 2, 2, 2], dilation=[2, 2])",
    "by a function": "nn.conv2d(nn.pad(%0, 0f, pad_width=[[0, 0], [0, 0], [4, 4], [4, 4]]), %w, channels=4, kernel_size=[3, 3])",
}


def module_of(reader: str, more: str = "") -> irtool.Module:
    result = f"(%1, sum(%0{more}))" if more else "%1"
    return irtool.parse(f"""#[version = "0.0.5"]
def @main(%x: Tensor[(1, 3, 32, 32), float32], %w: Tensor[(4, 3, 3, 3), float32]) {{
  %0 = multiply(floor(divide(%x, 0.25f)), 0.25f);
  %1 = {reader};
  {result}
}}
""")


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
@pytest.mark.parametrize("target", [LITTLE, LITTLE.replace("c{", "llvm{")], ids=["c", "llvm"])
def test_results_are_the_same(reader: str, target: str) -> None:
    module = module_of(reader)
    g = np.random.default_rng(0)
    inputs = [g.standard_normal(s).astype("float32") for s in ((1, 3, 32, 32), (4, 3, 3, 3))]
    artifact = irtool.build(module, target=target)
    np.testing.assert_allclose(artifact.run(inputs), irtool.evaluate(module, inputs), rtol=1e-4, atol=1e-5)


@pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="needs gcc-arm-none-eabi")
def test_multiply_adds_of_packed_operands_count() -> None:
    module = irtool.parse("""#[version = "0.0.5"]
def @main(%x: Tensor[(1, 3, 48, 48), float32], %w: Tensor[(16, 3, 3, 3), int8]) {
  %0 = cast(clip(floor(%x), a_min=0f, a_max=255f), dtype="uint8");
  %1 = nn.conv2d(%0, %w, channels=16, kernel_size=[3, 3], padding=[1, 1, 1, 1], out_dtype="int32");
  cast(clip(right_shift(%1, 5), a_min=0f, a_max=255f), dtype="uint8")
}
""")
    weights = {"w": np.ones((16, 3, 3, 3), "int8")}
    report = irtool.build(module, weights, board="mps2-an386", emit="tir").report
    assert report["macs"] == 16 * 3 * 9 * 48 * 48
    assert report["arena_bytes"] < 3 * 48 * 48


def test_values_with_other_readers_stay() -> None:
    module = module_of(READERS["padded"], ", axis=[1]")
    artifact = irtool.build(module, target=LITTLE)
    assert artifact.arena_bytes >= 3 * 32 * 32 * 4
