"""Rounding of quantized sums by products of 64-bit integers and shifts, in vectors: the same bits as the interpreter's."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import irtool

pytestmark = pytest.mark.promise("quantized networks")

ROUNDINGS = ("UPWARD", "TONEAREST")
FACTORS = {"below 1": (-12, -3), "of any size": (-30, 6), "above 1": (0.5, 6)}
"""Powers of e; those above 1 are shifted to the left first."""


def rounded(rounding: str, layer: str, data: str, scale: str) -> str:
    """One scale for each channel, or one for all."""
    return f"""#[version = "0.0.5"]
    def @main(%x: {data}, %w: Tensor[(48, 32, 1, 1), int8], %s: {scale}) {{
      qnn.requantize({layer}, %s, 0, 0.05f, 3, axis=1, rounding="{rounding}", out_dtype="int8")
    }}"""


LAYERS = {
    "alone": ("%x", "Tensor[(1, 48, 9, 11), int32]"),
    "convolution": (
        'nn.conv2d(%x, %w, channels=48, kernel_size=[1, 1], out_dtype="int32")',
        "Tensor[(1, 32, 9, 11), uint8]",
    ),
}


@pytest.mark.parametrize("mcpu", ["x86-64", "x86-64-v3", "native"])
@pytest.mark.parametrize("factors", FACTORS)
@pytest.mark.parametrize("layer", LAYERS)
def test_bits_are_those_of_the_interpreter(layer: str, factors: str, mcpu: str) -> None:
    random = np.random.default_rng(0)
    call, data = LAYERS[layer]
    scales = (np.exp(random.uniform(*FACTORS[factors], 48)) * 0.05).astype("float32")
    if layer == "alone":
        x = random.integers(-(2**31), 2**31, (1, 48, 9, 11)) >> random.integers(0, 31, (1, 48, 9, 11))
        x[0, :, 0, :2] = (-(2**31), 2**31 - 1)
        inputs = {"x": x.astype("int32")}
    else:
        inputs = {"x": random.integers(0, 256, (1, 32, 9, 11)).astype("uint8")}
    weights = {"w": random.integers(-127, 128, (48, 32, 1, 1)).astype("int8")}
    for rounding in ROUNDINGS:
        for scale, values in (("Tensor[(48), float32]", scales), ("float32", scales[0])):
            module, params = irtool.parse(rounded(rounding, call, data, scale)), {**weights, "s": np.asarray(values)}
            expected = irtool.evaluate(module, {**inputs, **params})
            actual = irtool.build(module, params, mcpu=mcpu, cflags="-O1").run(inputs)
            np.testing.assert_array_equal(actual, expected, err_msg=f"{rounding}, {scale}")


def emitted(tmp_path: Path, rounding: str, layer: str = "alone", **options: str) -> tuple[irtool.Artifact, str]:
    """The artifact of a layer, and its C."""
    call, data = LAYERS[layer]
    weights = {"s": np.geomspace(1e-5, 1e-3, 48).astype("float32"), "w": np.ones((48, 32, 1, 1), "int8")}
    text = rounded(rounding, call, data.replace("9, 11", "8, 12"), "Tensor[(48), float32]")  # no elements are left
    module = irtool.parse(text)
    artifact = irtool.build(module, weights, name="net", emit="c", out_dir=tmp_path, **options)
    return artifact, (tmp_path / "net.c").read_text()


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_products_and_shifts_are_instructions(tmp_path: Path, rounding: str, layer: str) -> None:
    emitted(tmp_path, rounding, layer, mcpu="x86-64-v4")
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    process = subprocess.run(
        ["gcc", "-O3", "-march=x86-64-v4", "-S", "-o", "-", str(tmp_path / "net.c")],
        capture_output=True,
        text=True,
        check=False,
    )
    if process.returncode:
        pytest.skip("gcc makes code for another architecture")
    assert re.search(r"\bvpmuldq\b.*%zmm", process.stdout)
    assert re.search(r"\bvpsra(v?)q\b.*%zmm", process.stdout)
    assert not re.search(r"\b(imulq|sarq|sarx)\b", process.stdout)


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_constants_are_stored_once_for_each_channel(tmp_path: Path, rounding: str) -> None:
    """Folding of constants has enlarged halves to the shape of the data."""
    built, text = emitted(tmp_path, rounding, mcpu="x86-64-v3")
    assert built.report["weight_bytes"] <= 48 * 3 * 8
    assert len(re.findall(r"const int32_t net_constant_\d\[48\]", text)) == 2  # factors and shifts
