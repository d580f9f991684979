"""Halves between two steps: the rounding that `qnn.quantize` states is that of the interpreter and of C, at every level."""

from __future__ import annotations

import numpy as np
import pytest

import irtool

HALVES = np.array(
    [
        0.5,
        1.5,
        2.5,
        -0.5,
        -1.5,
        3.5,
        125.5,
        126.5,
        -126.5,
        -127.5,
        0.49999997,
        -2.5,
        4194303.5,
        8388607.5,
        4194304.5,
        1e30,
    ],
    "float32",
)
EVEN, AWAY = "TONEVEN", "TONEAREST"


def rounded(rounding: str, dtype: str, zero: int) -> np.ndarray:
    """What the operator is to give, in Python's numbers."""
    info = np.iinfo(dtype)
    x = HALVES.astype("float64")
    whole = np.rint(x) if rounding == EVEN else np.copysign(np.floor(np.abs(x) + 0.5), x)
    most = info.max - 127 if dtype == "int32" else info.max
    return np.clip(whole + zero, info.min, most).astype(dtype)


def module_of(rounding: str) -> tuple[irtool.Module, list[np.ndarray]]:
    """Values quantized alone, behind an addition, behind another quantization, and by a table."""
    same, expected = [], []
    for dtype, zero in (("int8", 0), ("uint8", 3), ("int16", 0), ("int32", 0)):
        same.append(f'qnn.quantize(%x, 1f, {zero}, out_dtype="{dtype}", rounding="{rounding}")')
        expected.append(rounded(rounding, dtype, zero))
    steps = "qnn.dequantize(%s, 0.5f, 0)"
    parts = [*same]
    for text in (steps, f"nn.relu({steps})", f"add({steps}, qnn.dequantize(%s, 1f, 0))", f"exp(multiply({steps}, 0f))"):
        parts.append(f'qnn.quantize({text}, 1f, 0, out_dtype="int8", rounding="{rounding}")')
    body = ",\n  ".join(parts)
    params = f"%x: Tensor[({len(HALVES)}), float32], %s: Tensor[(8), int8]"
    return irtool.infer_types(irtool.parse(f'#[version = "0.0.5"]\ndef @main({params}) {{\n  ({body})\n}}')), expected


INPUTS = [HALVES, np.array([1, 3, 5, -1, -3, -5, 127, -127], "int8")]


@pytest.mark.parametrize("rounding", [EVEN, AWAY])
def test_the_interpreter_rounds_as_the_text_says(rounding):
    module, expected = module_of(rounding)
    for actual, want in zip(irtool.evaluate(module, INPUTS), expected, strict=False):
        np.testing.assert_array_equal(actual, want)


@pytest.mark.parametrize("rounding", [EVEN, AWAY])
@pytest.mark.parametrize(
    "passes", ["qnn.CanonicalizeOps", "PropagateDequantize", "PropagateDequantize,qnn.CanonicalizeOps"]
)
def test_passes_keep_the_rounding(rounding, passes):
    module, _ = module_of(rounding)
    rewritten = irtool.run_passes(module, passes)
    for got, want in zip(irtool.evaluate(rewritten, INPUTS), irtool.evaluate(module, INPUTS), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("level, vector", [(0, True), (3, True), (3, "none")])
def test_compiled_code_rounds_as_the_interpreter(level, vector):
    for rounding in (EVEN, AWAY):
        module, _ = module_of(rounding)
        built = irtool.build(module, opt_level=level, vector=vector)
        for got, want in zip(built.run(INPUTS), irtool.evaluate(module, INPUTS), strict=True):
            np.testing.assert_array_equal(got, want, err_msg=rounding)


def test_a_rounding_that_is_none_is_refused():
    with pytest.raises(irtool.IrError, match="rounding is UPWARD"):
        irtool.infer_types(
            irtool.parse(
                '#[version = "0.0.5"]\ndef @main(%x: float32) { qnn.quantize(%x, 1f, 0, out_dtype="int8", rounding="UPWARD") }'
            )
        )


def test_the_default_is_that_of_tvm_and_not_stated():
    text = '#[version = "0.0.5"]\ndef @main(%x: float32) { qnn.quantize(%x, 1f, 0, out_dtype="int8", axis=-1) }'
    assert "rounding" not in irtool.to_text(irtool.infer_types(irtool.parse(text)))
