"""Operands in another order than that of matrix tiles: results in 32 bits that a kernel of their own rounds, and planes of channels, get
words in rows of tiles, and results in planes are transposed."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import irtool
from tests.backends.amx_programs import EmulatedProgram, emulated

RESIDUAL = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 32, 9, 11), bfloat16], %a: Tensor[(64, 32, 1, 1), bfloat16], %b: Tensor[(64, 64, 3, 3), bfloat16],
          %c: Tensor[(32, 64, 1, 1), bfloat16]) {
  %0 = nn.relu(nn.conv2d(%x, %a, out_dtype="float32"));
  %1 = add(nn.conv2d(cast(%0, dtype="bfloat16"), %b, padding=[1, 1, 1, 1], out_dtype="float32"), %0);
  nn.conv2d(cast(%1, dtype="bfloat16"), %c, out_dtype="float32")
}
"""
BYTES = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 64, 9, 11), uint8], %a: Tensor[(128, 64, 1, 1), int8], %b: Tensor[(128, 128, 3, 3), int8],
          %c: Tensor[(64, 128, 1, 1), int8]) {
  %0 = nn.relu(nn.conv2d(%x, %a, out_dtype="int32"));
  %1 = cast(right_shift(%0, 14), dtype="uint8");
  %2 = add(nn.conv2d(%1, %b, padding=[1, 1, 1, 1], out_dtype="int32"), %0);
  nn.conv2d(cast(right_shift(%2, 14), dtype="uint8"), %c, out_dtype="int32")
}
"""
PLANES = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 64, 14, 17), bfloat16], %a: Tensor[(48, 64, 2, 2), bfloat16]) {
  nn.conv2d(%x, %a, strides=[2, 1], out_dtype="float32")
}
"""
ODD = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 64, 9, 11), bfloat16], %a: Tensor[({n}, 64, 1, 1), bfloat16], %b: Tensor[({n}, {n}, 1, 1), bfloat16],
          %c: Tensor[(64, {n}, 1, 1), bfloat16]) {{
  %0 = nn.relu(nn.conv2d(%x, %a, out_dtype="float32"));
  %1 = add(nn.conv2d(cast(%0, dtype="bfloat16"), %b, out_dtype="float32"), %0);
  nn.conv2d(cast(%1, dtype="bfloat16"), %c, out_dtype="float32")
}}
"""

IMAGE = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, {channels}, 20, 23), {data}], %a: Tensor[(32, {channels}, {taps}, {taps}), {weights}]) {{
  nn.conv2d(%x, %a, strides=[{stride}, {stride}], padding=[1, 1, 1, 1], out_dtype="{result}")
}}
"""


def values_of(module: irtool.Module) -> dict[str, np.ndarray]:
    g = np.random.default_rng(2)
    values = {}
    for p in module["main"].params:
        shape, dtype = [int(d) for d in p.type_annotation.shape], p.type_annotation.dtype
        values[p.name] = (
            (g.standard_normal(shape) / 4).astype(ml_dtypes.bfloat16)
            if dtype == "bfloat16"
            else g.integers(0, 127, shape).astype(dtype)
        )
    return values


@emulated
@pytest.mark.parametrize("text", [RESIDUAL, BYTES, PLANES], ids=["rounded", "bytes", "planes"])
def test_words_fill_the_rows_of_tiles(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = irtool.parse(text)
    values = values_of(module)
    x = values.pop("x")
    program = EmulatedProgram(module, tmp_path, values)
    reasons = [s["reason"] for s in program.stages if s["strategy"] == "amx_tile"]
    assert len(reasons) == text.count("nn.conv2d") and all("16 words" in x for x in reasons)
    program.check({"x": x}, monkeypatch, error=0 if text is BYTES else 1e-2)


@emulated
@pytest.mark.parametrize(("channels", "words"), [(24, 12), (40, 10), (80, 10), (112, 14), (144, 12)])
def test_channels_that_rows_of_tiles_do_not_divide(
    channels: int, words: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As few rows of tiles as possible have the words of a sum; 24 and 40 channels are one tile of columns and a part of one."""
    module = irtool.parse(ODD.format(n=channels))
    values = values_of(module)
    x = values.pop("x")
    program = EmulatedProgram(module, tmp_path, values)
    first, *others = [s["reason"] for s in program.stages if s["strategy"] == "amx_tile"]
    assert "16 words" in first and len(others) == 2, (first, others)
    assert all(int(text.rpartition(" words")[0].split()[-1]) >= words for text in others), others
    program.check({"x": x}, monkeypatch, error=1e-2)


@emulated
@pytest.mark.parametrize(
    ("channels", "taps", "stride", "data", "weights"),
    [
        (3, 7, 2, "bfloat16", "bfloat16"),
        (3, 3, 1, "bfloat16", "bfloat16"),
        (6, 5, 3, "bfloat16", "bfloat16"),
        (6, 3, 1, "uint8", "int8"),
        (9, 4, 2, "int8", "int8"),
    ],
)
def test_images_of_few_channels(
    channels: int, taps: int, stride: int, data: str, weights: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The words of a row of the window are next to each other, and fill a row of a tile together."""
    result = "float32" if data == "bfloat16" else "int32"
    text = IMAGE.format(channels=channels, taps=taps, stride=stride, data=data, weights=weights, result=result)
    module = irtool.parse(text)
    values = values_of(module)
    x = values.pop("x")
    program = EmulatedProgram(module, tmp_path, values)
    (reason,) = [s["reason"] for s in program.stages if s["strategy"] == "amx_tile"]
    words = taps * -(-channels // (2 if data == "bfloat16" else 4))
    assert f"{words} words" in reason
    program.check({"x": x}, monkeypatch, error=1e-2 if data == "bfloat16" else 0)


PRODUCTS = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, {rows}, {depth}), {data}], %w: Tensor[{shape}, {weights}]) {{
  nn.batch_matmul(%x, %w, out_dtype="{result}", transpose_b={transpose_b})
}}
"""


@emulated
@pytest.mark.parametrize("transpose_b", [True, False])
@pytest.mark.parametrize(
    ("rows", "columns", "depth", "data"), [(64, 49, 32, "bfloat16"), (33, 197, 64, "uint8"), (40, 17, 96, "uint8")]
)
def test_the_last_columns_overlap_those_before(
    rows: int, columns: int, depth: int, data: str, transpose_b: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Operands that only a run knows have no zeros behind their columns."""
    shape = (2, columns, depth) if transpose_b else (2, depth, columns)
    weights, result = ("bfloat16", "float32") if data == "bfloat16" else ("int8", "int32")
    module = irtool.parse(
        PRODUCTS.format(
            rows=rows, depth=depth, data=data, shape=shape, weights=weights, result=result, transpose_b=transpose_b
        )
    )
    program = EmulatedProgram(module, tmp_path)
    assert "amx_tile" in [s["strategy"] for s in program.stages]
    program.check(values_of(module), monkeypatch, error=1e-2 if data == "bfloat16" else 0)
