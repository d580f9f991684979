"""Tiles of results without vectors, and words of bytes there: what processors such as Cortex-M4 are given, tried on any machine."""

from pathlib import Path

import numpy as np
import pytest

import irtool

V = '#[version = "0.0.5"]\n'
CASES = {
    "matrices": ("nn.dense(%x, %w, units=None{})", (9, 67), (15, 67)),
    "one row": ("nn.dense(%x, %w, units=None{})", (1, 64), (30, 64)),
    "one column": ("nn.dense(%x, %w, units=None{})", (30, 64), (1, 64)),
    "padded": ("nn.conv2d(%x, %w, padding=[1, 1]{})", (1, 16, 7, 9), (11, 16, 3, 3)),
    "strided, odd channels": ("nn.conv2d(%x, %w, strides=[2, 2]{})", (2, 13, 9, 8), (9, 13, 3, 3)),
    "channels last": (
        'nn.conv2d(%x, %w, padding=[1, 1], data_layout="NHWC", kernel_layout="HWIO"{})', (1, 7, 9, 16), (3, 3, 16, 10)
    ),
    "depthwise": ("nn.conv2d(%x, %w, groups=16, padding=[1, 1]{})", (1, 16, 6, 6), (16, 1, 3, 3)),
    "transposed": (
        'nn.conv2d_transpose(%x, %w, kernel_size=[2, 2], strides=[2, 2], kernel_layout="IOHW"{})', (1, 16, 5, 6), (16, 10, 2, 2)
    ),
    "one channel": ("nn.conv1d(%x, %w, padding=[1]{})", (1, 1, 50), (8, 1, 3)),
}  # fmt: skip
TARGET = "c{vector=none,scalar_results=%d,word_products=%d,blocked_updates=1}"


def program(case: str, dtype: str) -> tuple[irtool.Module, dict[str, np.ndarray]]:
    call, data, weights = CASES[case]
    sums = "" if dtype == "float32" else ', out_dtype="int32"'
    text = f"{V}def @main(%x: Tensor[{data}, {dtype}], %w: Tensor[{weights}, {dtype}]) {{ {call.format(sums)} }}"
    g = np.random.default_rng(0)
    make = g.standard_normal if dtype == "float32" else lambda s: g.integers(*(np.iinfo(dtype).min, 128), s)
    return irtool.parse(text), {n: np.asarray(make(s)).astype(dtype) for n, s in (("x", data), ("w", weights))}


@pytest.mark.parametrize("dtype", ["int8", "uint8", "float32"])
@pytest.mark.parametrize("case", CASES)
def test_results_are_those_of_the_interpreter(case: str, dtype: str) -> None:
    module, values = program(case, dtype)
    want = np.asarray(irtool.evaluate(module, values))
    for results in (4, 9):
        artifact = irtool.build(module, {"w": values["w"]}, target=TARGET % (results, 2))
        got = np.asarray(artifact.run([values["x"]]))
        if dtype == "float32":
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
        else:
            np.testing.assert_array_equal(got, want)


def test_both_numbers_have_an_effect(tmp_path: Path) -> None:
    texts = set()
    for results, words in ((1, 1), (4, 1), (4, 2), (9, 2)):
        module, values = program("padded", "int8")
        folder = tmp_path / f"{results}{words}"
        target = TARGET % (results, words)
        artifact = irtool.build(
            module, {"w": values["w"]}, target=target, name="m", emit="c", weights="file", out_dir=folder
        )
        text = (folder / "m.c").read_text()
        assert ("irt_dot4_s8s8(acc" in text) == (words > 1)
        assert [k["strategy"] for k in artifact.report["kernels"]] == [
            "scalar_tile" if results > 1 else "scalar_reduction"
        ]
        texts.add(text)
    assert len(texts) == 4


def test_bfloat16_stays_as_it_is_without_vectors(tmp_path: Path) -> None:
    text = f'{V}def @main(%x: Tensor[(8, 64), bfloat16], %w: Tensor[(32, 64), bfloat16]) {{ nn.dense(%x, %w, units=32, out_dtype="float32") }}'
    irtool.build(irtool.parse(text), target=TARGET % (4, 2), name="m", emit="c", out_dir=tmp_path)
    assert "dot2" not in (tmp_path / "m.c").read_text()
