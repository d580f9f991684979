"""Sums of a single term: maps, with the bits of sums."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irtool

CASES = {
    "outer product": ("nn.matmul(%a, %b, units=40)", (33, 1), (1, 40)),
    "dense": ("nn.relu(nn.dense(%a, %b, units=40))", (33, 1), (40, 1)),
    "batches": ("nn.batch_matmul(%a, %b, transpose_b=False)", (3, 17, 1), (3, 1, 24)),
    "pointwise": ("nn.conv2d(%a, %b, padding=[0, 0])", (1, 1, 9, 9), (16, 1, 1, 1)),
    "scaled channels": ("nn.conv2d(%a, %b, groups=32, channels=32, kernel_size=[1, 1])", (1, 32, 9, 9), (32, 1, 1, 1)),
    "sums of nothing else": ("sum(multiply(%a, %b), axis=[1])", (33, 1, 5), (33, 1, 5)),
    "extremes": ("max(add(%a, %b), axis=[1])", (33, 1, 5), (33, 1, 5)),
    "gelu of a product": ("%0 = nn.dense(%a, %b, units=40); multiply(%0, add(erf(%0), 1f))", (33, 1), (40, 1)),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("target", ["c", "llvm"])
def test_values(name: str, target: str, tmp_path: Path) -> None:
    """A product of -0.0 added to 0 is 0.0: its sign shows that the sum was made."""
    body, *shapes = CASES[name]
    a, b = (np.random.default_rng(n).uniform(-1, 1, s).astype("float32") for n, s in enumerate(shapes))
    a.reshape(-1)[::5] = -0.0
    text = (
        f'#[version = "0.0.5"]\ndef @main(%a: Tensor[{a.shape}, float32], %b: Tensor[{b.shape}, float32]) {{ {body} }}'
    )
    source = irtool.infer_types(irtool.parse(text))
    expected = np.asarray(irtool.evaluate(source, [a, b]))
    built = irtool.build(source, target=target, mcpu="x86-64-v3", out_dir=tmp_path)
    actual = np.asarray(built.run([a, b]))
    np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(np.signbit(actual[actual == 0]), np.signbit(expected[actual == 0]))
    assert {k["strategy"] for k in built.report["kernels"]} <= {"elementwise", "copy"}


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_sums_over_lengths_of_a_run(rows: int, tmp_path: Path) -> None:
    """A length that may be 1 is no single step."""
    text = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(?, 24), float32], %y: Tensor[(?, 24), float32]) { sum(multiply(%x, %y), axis=[0]) }'
    source = irtool.parse(text)
    x, y = (np.random.default_rng(n).uniform(-1, 1, (rows, 24)).astype("float32") for n in range(2))
    built = irtool.build(source, shapes={"x": ["n<=8", 24], "y": ["n<=8", 24]}, out_dir=tmp_path)
    np.testing.assert_allclose(np.asarray(built.run([x, y])), (x * y).sum(0), rtol=1e-5, atol=1e-6)
