"""Squares whose rows become columns in registers: every kind of element, and axes that squares do not fill."""

import re

import numpy as np
import pytest

import irtool
from tests.backends.transposes import check_transposes, data, kernel_of
from tests.ops.hostile import run_under_sanitizers

SHAPES = [
    ((40, 37), (1, 0)),
    ((4, 50), (1, 0)),
    ((2, 70, 4), (0, 2, 1)),
    ((1, 24, 7, 9), (0, 2, 3, 1)),
    ((5, 6, 7), (2, 1, 0)),
    ((70, 24), (1, 0)),
    ((130, 97), (1, 0)),
    ((512, 49), (1, 0)),
    ((300, 20), (1, 0)),
    ((64, 16), (1, 0)),
]
DTYPES = ("float32", "float64", "float16", "int8", "int32", "int64", "bool")


@pytest.mark.parametrize("mcpu", ["x86-64", "x86-64-v3", "native"])
def test_transposed_elements_stay_what_they_are(mcpu: str) -> None:
    check_transposes(SHAPES, DTYPES, mcpu, sums=3)


def test_squares_are_turned_in_registers(tmp_path) -> None:
    text = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(64, 48), float32]) { transpose(%x, axes=[1, 0]) }'
    irtool.build(irtool.infer_types(irtool.parse(text)), name="m", emit="c", out_dir=tmp_path, mcpu="x86-64-v3")
    assert "irt_vsquare_f32x8(" in (tmp_path / "m.c").read_text()


def written(shape: tuple[int, ...], axes: list[int], dtype: str, mcpu: str, folder) -> str:
    """The C of a transpose."""
    text = f'#[version = "0.0.5"]\ndef @main(%x: Tensor[{shape}, {dtype}]) {{ transpose(%x, axes={axes}) }}'
    return kernel_of(text, mcpu, folder)


def test_rows_of_narrow_elements_fill_vectors(tmp_path) -> None:
    assert "irt_vsquare_i8x64(" in written((256, 128), [1, 0], "int8", "x86-64-v4", tmp_path)
    assert "irt_vsquare_u16x32(" in written((256, 128), [1, 0], "float16", "x86-64-v4", tmp_path)
    assert "irt_vsquare_i8x32(" in written((256, 128), [1, 0], "int8", "x86-64-v3", tmp_path)


def test_ends_of_an_axis_are_squares_too(tmp_path) -> None:
    """The rows of a square at an edge are not for threads to share: they are made together."""
    text = written((640, 416), [1, 0], "uint8", "x86-64-v4", tmp_path)
    assert text.count("irt_vquarter_square_u8x64(") == 1 and "p0[" not in text
    text = written((1, 256, 14, 14), [0, 2, 3, 1], "uint8", "x86-64-v4", tmp_path)
    assert text.count("irt_vquarter_square_u8x64(") == 2 and "p0[" not in text


def test_half_a_square_is_enough_for_half_a_vector(tmp_path) -> None:
    text = written((8400, 24), [1, 0], "float32", "x86-64-v4", tmp_path)
    assert text.count("irt_vsquare_f32x16(") == text.count("irt_vhalf_square_f32x16(") == 1
    assert [int(x) for x in re.findall(r"; \w+ < (\d+); ", text)] == [75, 7]


def test_a_quarter_is_enough_for_a_piece(tmp_path) -> None:
    """Of rows that are not whole lines, pieces of 16 bytes are read: fewer of them lie in two lines than of longer vectors."""
    assert "irt_vquarter_square_i8x64(" in written((300, 60), [1, 0], "int8", "x86-64-v4", tmp_path)
    assert "irt_vquarter_square_u16x32(" in written((300, 60), [1, 0], "float16", "x86-64-v4", tmp_path)
    assert "irt_vhalf_square_i8x32(" in written((300, 60), [1, 0], "int8", "x86-64-v3", tmp_path)
    assert "irt_vquarter_square_f32x16(" in written((130, 97), [1, 0], "float32", "x86-64-v4", tmp_path)


@pytest.mark.parametrize("vector", [True, False], ids=["vectors", "scalars"])
def test_nothing_beyond_the_operand_is_read(vector: bool, tmp_path) -> None:
    cases = [("transpose", [data(s, d)], {"axes": axes}) for s, axes in SHAPES for d in DTYPES]
    assert run_under_sanitizers(cases, tmp_path, vector) == []


def test_long_rows_are_read_in_strips(tmp_path) -> None:
    """Some squares side by side before those of the next rows, and threads share squares, not strips."""
    text = written((1024, 2048), [1, 0], "float32", "x86-64-v4", tmp_path)
    assert [int(x) for x in re.findall(r"; \w+ < (\d+); ", text)] == [4, 64, 32] and "collapse(2)" in text


def test_rows_are_written_line_after_line_where_they_crowd(tmp_path) -> None:
    """Rows of the result 1 KiB apart share a few places of the cache: the next square is beside the last, not below it."""
    text = written((256, 196), [1, 0], "float32", "x86-64-v4", tmp_path)
    assert [int(x) for x in re.findall(r"; \w+ < (\d+); ", text)] == [2, 49, 8]
    text = written((784, 512), [1, 0], "float32", "x86-64-v4", tmp_path)
    assert [int(x) for x in re.findall(r"; \w+ < (\d+); ", text)] == [4, 49, 8]


def test_two_squares_of_half_a_line_fill_it(tmp_path) -> None:
    text = written((96, 640), [1, 0], "float32", "x86-64-v3", tmp_path)
    assert [int(x) for x in re.findall(r"; \w+ < (\d+); ", text)] == [5, 6, 16, 2]


LARGE = [((2065, 2128), "float32"), ((2128, 2065), "float32"), ((2880, 3008), "float16"), ((4, 70000, 64), "int8")]
"""More bytes than a cache keeps; the rows of the second's result are no whole lines."""


@pytest.mark.parametrize("openmp", [False, True], ids=["alone", "threads"])
def test_large_results_go_past_the_caches(openmp: bool, tmp_path) -> None:
    for shape, dtype in LARGE:
        axes = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
        text = f'#[version = "0.0.5"]\ndef @main(%x: Tensor[{shape}, {dtype}]) {{ transpose(%x, axes={axes}) }}'
        kernel = kernel_of(text, "x86-64-v4", tmp_path)
        assert re.search(r"irt_vstream_\w*square_", kernel) and "irt_end_stream();" in kernel
        built = irtool.build(irtool.infer_types(irtool.parse(text)), mcpu="native", openmp=openmp)
        np.testing.assert_array_equal(built.run([data(shape, dtype)]), data(shape, dtype).transpose(axes))


def test_what_a_cache_keeps_does_not_go_past_it(tmp_path) -> None:
    assert "stream" not in written((2000, 2000), [1, 0], "float32", "x86-64-v4", tmp_path)
    assert "stream" not in written((2065, 2128), [1, 0], "float32", "x86-64-v3", tmp_path)


@pytest.mark.parametrize("mcpu", ["x86-64", "x86-64-v3", "native"])
def test_strips_and_interleaved_rows_are_those_of_the_interpreter(mcpu: str) -> None:
    shapes = [
        ((40, 1100), (1, 0)),
        ((1, 4, 9, 11), (0, 2, 3, 1)),
        ((1, 8, 9, 11), (0, 2, 3, 1)),
        ((9, 11, 3), (2, 0, 1)),
    ]
    check_transposes(shapes, ("float32", "float16", "uint8", "bool"), mcpu)
