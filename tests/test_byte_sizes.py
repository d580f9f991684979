"""Numbers of bytes in all options and files that have some."""

from __future__ import annotations

import pytest

from irtool.byte_sizes import read_size, show_size
from tests.command_line import irtool

SIZES = {
    "0": 0,
    "100": 100,
    "64K": 1 << 16,
    "64k": 1 << 16,
    "64KiB": 1 << 16,
    "64 KB": 1 << 16,
    "4M": 4 << 20,
    "1.5G": 3 << 29,
    "0.001K": 1,
    "1.0": 1,
    **dict.fromkeys(("", "K", "-1", "1.5", "64Q", "1e3", "0x10", "1.K", ".5K", "64K ", "٣K"), None),
}


@pytest.mark.parametrize("text", SIZES)
def test_sizes(text: str) -> None:
    size = SIZES[text]
    assert read_size(text) == size
    if size is not None:
        assert read_size(show_size(size)) == size


@pytest.mark.parametrize("text", ["64KiB", "0.0625M"])
def test_options_read_the_same_sizes(text: str, tmp_path: object) -> None:
    code, _, err = irtool("build", "samples/mlp.relay", "--emit=c", "--no-cache", f"--ram-limit={text}", "-o", tmp_path)
    assert (code, err) == (0, "") or "RAM" in err, err
    code, _, err = irtool("train-step", "samples/mlp.relay", "--ram-limit", text, "--loss", "mse")
    assert "is not a size" not in err
