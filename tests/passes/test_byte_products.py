"""Quantized products stay products of bytes where a build has dot-product instructions for them."""

from __future__ import annotations

import re

import numpy as np
import pytest

import irtool

NETWORK = """#[version = "0.0.5"]
def @main(%x: Tensor[({shape}), {a}], %w: Tensor[({weights}), {b}]) {{
  %0 = {op}(%x, %w, {zx}, {zw}, 0.02f, 0.01f, {attrs}, out_dtype="int32");
  qnn.requantize(%0, 0.0002f, 0, 0.02f, 128, out_dtype="uint8")
}}
"""
CONV = {"op": "qnn.conv2d", "shape": "1, 16, 9, 9", "weights": "24, 16, 3, 3"}
PADDED = "padding=[1, 1, 1, 1], channels=24, kernel_size=[3, 3]"
TRANSPOSED = {
    "op": "qnn.conv2d_transpose", "shape": "1, 16, 9, 9", "weights": "16, 24, 2, 2", "a": "int8", "b": "int8", "zw": 0,
    "attrs": 'strides=[2, 2], channels=24, kernel_size=[2, 2], kernel_layout="IOHW"',
}  # fmt: skip
CASES = {
    "symmetric weights": ({**CONV, "a": "uint8", "b": "int8", "zx": 128, "zw": 0, "attrs": PADDED}, True),
    "asymmetric weights": ({**CONV, "a": "uint8", "b": "uint8", "zx": 3, "zw": 250, "attrs": PADDED}, True),
    "signed": ({**CONV, "a": "int8", "b": "int8", "zx": -5, "zw": 7, "attrs": PADDED}, True),
    "spread windows of asymmetric weights": (
        {**CONV, "a": "uint8", "b": "int8", "zx": 3, "zw": 2, "attrs": PADDED + ", dilation=[2, 2]"},
        False,
    ),
    "groups": (
        {**CONV, "weights": "24, 8, 3, 3", "a": "uint8", "b": "int8", "zx": 3, "zw": 0, "attrs": PADDED + ", groups=2"},
        True,
    ),
    "groups that are no whole words": (
        {**CONV, "shape": "1, 18, 9, 9", "weights": "24, 9, 3, 3", "a": "uint8", "b": "int8", "zx": 3, "zw": 0, "attrs": PADDED + ", groups=2"},
        False,
    ),
    "groups of asymmetric weights": (
        {**CONV, "weights": "24, 8, 3, 3", "a": "uint8", "b": "int8", "zx": 3, "zw": 2, "attrs": PADDED + ", groups=2"},
        False,
    ),
    "groups of one channel each": (
        {**CONV, "shape": "1, 12, 9, 9", "weights": "24, 1, 3, 3", "a": "uint8", "b": "int8", "zx": 3, "zw": 0, "attrs": PADDED + ", groups=12"},
        False,
    ),
    "transposed, from the least number": ({**TRANSPOSED, "zx": -128}, True),
    "transposed, from another one": ({**TRANSPOSED, "zx": -127}, False),
    "dense": (
        {"op": "qnn.dense", "shape": "12, 70", "weights": "40, 70", "a": "uint8", "b": "int8", "zx": 9, "zw": -4, "attrs": "units=40"},
        True,
    ),
}  # fmt: skip


def random(shape: str, dtype: str) -> np.ndarray:
    limits = np.iinfo(dtype)
    size = [int(n) for n in shape.split(",")]
    return np.random.default_rng(0).integers(limits.min, limits.max + 1, size).astype(dtype)


@pytest.mark.parametrize("case", CASES)
def test_builds_multiply_bytes(case: str, tmp_path) -> None:
    words, is_kept = CASES[case]
    module = irtool.parse(NETWORK.format(**words))
    x, w = random(words["shape"], words["a"]), random(words["weights"], words["b"])
    artifact = irtool.build(
        module, {"w": w}, name="m", out_dir=tmp_path, target="c{blocked_updates=1,mcpu=icelake-server}", emit="c"
    )
    assert bool(re.search("irt_vdot4_", (tmp_path / "m.c").read_text())) == is_kept, artifact.report["kernels"]
    got = irtool.build(module, {"w": w}).run([x])
    np.testing.assert_array_equal(np.asarray(got), np.asarray(irtool.evaluate(module, {"x": x, "w": w})))


def test_passes_give_what_tvm_gives_unless_they_are_told() -> None:
    module = irtool.parse(NETWORK.format(**CASES["symmetric weights"][0]))
    plain = irtool.to_text(irtool.run_passes(module, "qnn.Legalize", target="c"))
    assert "int16" in plain and "qnn.conv2d" not in plain
    legalized = irtool.run_passes(module, "qnn.Legalize", target="c", config={"irtool.qnn.byte_products": True})
    assert "qnn.conv2d" in irtool.to_text(legalized)
