"""Rows of products in bands that stay in the second cache, and panels of weights as wide as the tiles that fit the rows."""

import re
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.schedule.cost.register_tiles import Tile, choose_tile, vectors_per_block
from irtool.tir.vector_target import VectorTarget

WIDE = VectorTarget(64, 32)

TALL = """#[version = "0.0.5"]
def @main(%x: Tensor[(331, 96), float32], %w: Tensor[(96, 96), float32]) { nn.dense(%x, %w, units=96) }
"""


@pytest.mark.promise("row_bands")
def test_rows_that_leave_the_cache_are_made_in_bands(tmp_path: Path) -> None:
    module = irtool.parse(TALL)
    chance = np.random.default_rng(0)
    x, w = (chance.uniform(-1, 1, s).astype("float32") for s in ((331, 96), (96, 96)))
    small = irtool.build(module, {"w": w}, target="c{l2_cache_bytes=65536}", mcpu="x86-64", out_dir=tmp_path)
    np.testing.assert_allclose(small.run([x]), x @ w.T, rtol=1e-5, atol=1e-5)
    source = next(tmp_path.glob("*.c")).read_text()
    bands, columns = source.find("for (int32_t band = 0"), source.find("for (int32_t ax1_o = 0")
    assert 0 <= bands < columns, "bands of rows are outside of the columns"
    count = re.match(r"for \(int32_t band = 0; band < (\d+)", source[bands:])
    assert count is not None and int(count[1]) % 2 == 0, "two threads have half of the bands each"


OPEN = """#[version = "0.0.5"]
def @main(%x: Tensor[(?, 96), float32], %w: Tensor[(100, 96), float32], input_dim_names=[["rows", ""]]) {
  nn.relu(nn.dense(%x, %w, units=100))
}
"""


@pytest.mark.promise("row_bands")
@pytest.mark.parametrize("openmp", [False, True])
@pytest.mark.parametrize("bounds", ["rows<=331", "?"])
def test_the_last_band_of_a_length_has_the_rest_of_the_rows(bounds: str, openmp: bool, tmp_path: Path) -> None:
    chance = np.random.default_rng(0)
    x, w = (chance.uniform(-1, 1, s).astype("float32") for s in ((331, 96), (100, 96)))
    target = "c{l2_cache_bytes=65536,parallel_updates=1}"
    dims = {"rows": bounds.removeprefix("rows")}
    built = irtool.build(
        irtool.parse(OPEN), {"w": w}, target=target, mcpu="x86-64", dims=dims, openmp=openmp, out_dir=tmp_path
    )
    source = next(tmp_path.glob("*.c")).read_text()
    (size,) = {int(n) for n in re.findall(r"band_rows\w* = irt_min_int\d+\((\d+), ", source)}
    kernel = source[source.index("band_rows") :].partition("#else")[0]
    widest = max(int(n) for n in re.findall(r"acc_(\d+)_0 = 0", kernel))
    assert len(re.findall(rf"acc_{widest}_0\w* = 0", kernel)) == 1, "full bands and the last one share the code"
    assert not openmp or "irt_first(worker" in kernel, "threads share the columns of a band"
    for rows in (0, 1, 2, size - 1, size, size + 1, 2 * size, 331):
        np.testing.assert_allclose(built.run([x[:rows]]), np.maximum(x[:rows] @ w.T, 0), rtol=1e-5, atol=1e-5)


@pytest.mark.promise("row_bands")
def test_panels_are_as_wide_as_tiles_that_fit_the_rows() -> None:
    assert vectors_per_block(48, 64, WIDE, may_pad=False) == 3, "64 rows are 8 tiles of 8 x 3"
    assert vectors_per_block(48, 197, WIDE, may_pad=False) == 3
    assert vectors_per_block(32, 7, WIDE, may_pad=False) == 4, "7 rows are one tile of 7 x 4"
    assert vectors_per_block(3142, 64, WIDE, may_pad=True) == 3
    assert vectors_per_block(3142, 64, WIDE, may_pad=False) == 2


@pytest.mark.promise("row_bands")
def test_tiles_of_few_rows_have_enough_sums() -> None:
    """A multiply-add takes four cycles: with fewer sums, each waits for the one before."""
    assert vectors_per_block(25, 1, WIDE, may_pad=False) == 5, "25 vectors are 5 x 5"
    assert vectors_per_block(25, 6, WIDE, may_pad=False) == 1, "6 sums are enough"
    assert vectors_per_block(48, 1, WIDE, may_pad=False) == 4
    assert choose_tile(1, 13, WIDE, block=1) == Tile(1, 1)
    assert choose_tile(1, 13, WIDE, block=1, across=True) == Tile(1, 7), "13 vectors have no blocks"
    assert choose_tile(6, 13, WIDE, block=1, across=True) == Tile(6, 1)
