"""Channels side by side that come apart: every kind of element, and axes that vectors do not fill."""

import numpy as np
import pytest

import irtool
from tests.ops.test_hostile_values import run_under_sanitizers

SHAPES = [((9, 7, 3), (2, 0, 1)), ((2, 70, 2), (0, 2, 1)), ((50, 4), (1, 0)), ((4, 50), (1, 0)), ((3, 2), (1, 0))]
DTYPES = ("float32", "float64", "float16", "int8", "uint8", "int64", "bool")


def data(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    return (np.arange(np.prod(shape)) * 37 % 251 - 120).reshape(shape).astype(dtype)


@pytest.mark.parametrize("mcpu", ["x86-64", "x86-64-v3", "native"])
def test_channels_stay_what_they_are(mcpu: str) -> None:
    for shape, axes in SHAPES:
        params = ", ".join(f"%{d}: Tensor[({', '.join(map(str, shape))}), {d}]" for d in DTYPES)
        turned = [f"transpose(%{d}, axes={list(axes)})" for d in DTYPES]
        used = [f'cast({t}, dtype="float32")' for t in turned]
        text = f'#[version = "0.0.5"]\ndef @main({params}) {{ ({", ".join([*turned, *used])}) }}'
        module = irtool.infer_types(irtool.parse(text))
        inputs = [data(shape, d) for d in DTYPES]
        got = irtool.build(module, mcpu=mcpu).run(inputs)
        for g, w in zip(got, irtool.evaluate(module, inputs), strict=True):
            np.testing.assert_array_equal(g, w)


def test_the_operand_is_read_once(tmp_path) -> None:
    text = """#[version = "0.0.5"]
def @main(%x: Tensor[(64, 64, 3), uint8]) { cast(transpose(%x, axes=[2, 0, 1]), dtype="float32") }"""
    irtool.build(irtool.infer_types(irtool.parse(text)), name="m", emit="c", out_dir=tmp_path, mcpu="x86-64-v4")
    kernel = (tmp_path / "m.c").read_text().split("\nstatic void tvmgen_m_")[1].split("\n#else")[0]
    assert kernel.count("for (") == 1
    assert all(kernel.count(f"irt_vchannel_3_{n}_u8x16(p0 + (") == 1 for n in range(3))


@pytest.mark.parametrize("vector", [True, False], ids=["vectors", "scalars"])
def test_nothing_beyond_the_operand_is_read(vector: bool, tmp_path) -> None:
    cases = [("transpose", [data(s, d)], {"axes": axes}) for s, axes in SHAPES for d in DTYPES]
    assert run_under_sanitizers(cases, tmp_path, vector) == []
