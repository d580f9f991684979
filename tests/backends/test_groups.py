"""Convolutions of groups of channels in few bits: the interpreter's bytes in every build, and dot products whatever groups there are."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import irtool
from tests.backends.instructions import require_processor

BYTES = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, {c}, {s}, {s}), uint8], %u: Tensor[({c}, {c}, 1, 1), int8], %w: Tensor[({o}, {g}, {k}, {k}), int8],
          %v: Tensor[(32, {o}, 1, 1), int8]) {{
  %0 = qnn.conv2d(%x, %u, 3, 0, 0.02f, 0.01f, channels={c}, kernel_size=[1, 1], out_dtype="int32");
  %1 = qnn.requantize(%0, 0.0002f, 0, 0.05f, 5, out_dtype="uint8");
  %2 = qnn.conv2d(%1, %w, 5, 0, 0.05f, 0.01f, padding=[1, 1], strides=[{d}, {d}], channels={o}, kernel_size=[{k}, {k}],
                  groups={n}, out_dtype="int32");
  %3 = qnn.requantize(%2, 0.0005f, 0, 0.07f, 7, out_dtype="uint8");
  %4 = qnn.conv2d(%3, %v, 7, 0, 0.07f, 0.01f, channels=32, kernel_size=[1, 1], out_dtype="int32");
  qnn.requantize(%4, 0.0007f, 0, 0.1f, 7, out_dtype="uint8")
}}
"""
FLOATS = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, {c}, {s}, {s}), float32], %u: Tensor[({c}, {c}, 1, 1), float32],
          %w: Tensor[({o}, {g}, {k}, {k}), float32], %v: Tensor[(32, {o}, 1, 1), float32]) {{
  %0 = nn.relu(nn.conv2d(%x, %u));
  %1 = nn.relu(nn.conv2d(%0, %w, padding=[1, 1], strides=[{d}, {d}], groups={n}));
  nn.relu(nn.conv2d(%1, %v))
}}
"""
# Channels of a group, its results, groups, the side of an image, of a window, and the stride.
SIZES = [
    (4, 4, 32, 20, 3, 1), (8, 8, 13, 14, 3, 2), (16, 16, 4, 7, 3, 1), (24, 24, 4, 14, 3, 1), (12, 12, 6, 9, 3, 2),
    (8, 2, 16, 14, 3, 1), (4, 8, 8, 14, 3, 1), (8, 4, 8, 14, 3, 1), (6, 6, 8, 10, 3, 1), (40, 40, 3, 8, 3, 1),
    (64, 64, 2, 7, 1, 1), (3, 3, 16, 14, 3, 1), (4, 2, 16, 14, 5, 1), (4, 12, 8, 14, 3, 1),
]  # fmt: skip
BUILDS = ["c{vector=none}", "c{mcpu=x86-64}", "c{mcpu=x86-64-v3}", "c{mcpu=x86-64-v4}", "c{mcpu=native}"]


def network(text: str, size: tuple[int, ...]) -> irtool.Module:
    g, o, n, s, k, d = size
    return irtool.infer_types(irtool.parse(text.format(c=g * n, o=o * n, g=g, n=n, s=s, k=k, d=d)))


def arguments(module: irtool.Module) -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    arrays = {}
    for p in module["main"].params:
        shape, dtype = [int(n) for n in p.checked_type.shape], p.checked_type.dtype
        if dtype == "float32":
            arrays[p.name] = (random.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(dtype)
        else:
            limits = np.iinfo(dtype)
            arrays[p.name] = random.integers(limits.min, limits.max + 1, shape).astype(dtype)
    return arrays


@pytest.mark.parametrize("target", BUILDS)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_bytes_are_those_of_the_interpreter(size: tuple[int, ...], target: str) -> None:
    require_processor(target.partition("mcpu=")[2].rstrip("}"))
    module = network(BYTES, size)
    inputs = arguments(module)
    want = np.asarray(irtool.evaluate(module, inputs))
    x = inputs.pop("x")
    assert len(np.unique(want)) > 50
    np.testing.assert_array_equal(np.asarray(irtool.build(module, inputs, target=target).run([x])), want)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_bfloat16_is_near_float32(size: tuple[int, ...]) -> None:
    module = network(FLOATS, size)
    inputs = arguments(module)
    want = np.asarray(irtool.evaluate(module, inputs))
    x = inputs.pop("x")
    artifact = irtool.build(module, inputs, target="c{mcpu=native}", precision="bfloat16{layers=all}")
    assert np.abs(np.asarray(artifact.run([x])) - want).max() <= 0.02 * np.abs(want).max()


@pytest.mark.parametrize("size", [s for s in SIZES if s[0] % 4 == 0], ids=str)
def test_whole_words_are_dot_products(size: tuple[int, ...], tmp_path: Path) -> None:
    module = network(BYTES, size)
    weights = arguments(module)
    del weights["x"]
    target = "c{mcpu=icelake-server,blocked_updates=1}"
    irtool.build(module, weights, target=target, emit="c", out_dir=tmp_path, name="m")
    text = (tmp_path / "m.c").read_text()
    assert "scalar_reduction" not in text
    kernels = text.split("groups=")
    assert len(kernels) > 1
    assert all(re.search("irt_vdot4_", part.split("\n/*")[0]) for part in kernels[1:])
