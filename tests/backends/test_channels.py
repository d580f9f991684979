"""Channels side by side that come apart: every kind of element, and axes that vectors do not fill."""

import pytest

from tests.backends.transposes import check_transposes, data, kernel_of
from tests.ops.hostile import run_under_sanitizers

SHAPES = [((9, 7, 3), (2, 0, 1)), ((2, 70, 2), (0, 2, 1)), ((50, 4), (1, 0)), ((4, 50), (1, 0)), ((3, 2), (1, 0))]
DTYPES = ("float32", "float64", "float16", "int8", "uint8", "int64", "bool")


@pytest.mark.parametrize("mcpu", ["x86-64", "x86-64-v3", "native"])
def test_channels_stay_what_they_are(mcpu: str) -> None:
    check_transposes(SHAPES, DTYPES, mcpu)


def test_the_operand_is_read_once(tmp_path) -> None:
    text = """#[version = "0.0.5"]
def @main(%x: Tensor[(64, 64, 3), uint8]) { cast(transpose(%x, axes=[2, 0, 1]), dtype="float32") }"""
    kernel = kernel_of(text, "x86-64-v4", tmp_path)
    assert kernel.count("for (") == 1
    assert all(kernel.count(f"irt_vchannel_3_{n}_u8x16(p0 + (") == 1 for n in range(3))


@pytest.mark.parametrize("vector", [True, False], ids=["vectors", "scalars"])
def test_nothing_beyond_the_operand_is_read(vector: bool, tmp_path) -> None:
    cases = [("transpose", [data(s, d)], {"axes": axes}) for s, axes in SHAPES for d in DTYPES]
    assert run_under_sanitizers(cases, tmp_path, vector) == []
