"""Numbers of bytes in all options and files that have some."""

from __future__ import annotations

from pathlib import Path

import pytest

from irtool.byte_sizes import read_size, show_size
from tests.command_line import irtool

MLP = Path(__file__).parents[1] / "samples" / "mlp.relay"

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


@pytest.mark.parametrize("text", ["64KiB", "0.0625M", "65536"])
def test_options_read_the_same_sizes(text: str, tmp_path: Path) -> None:
    code, _, err = irtool("build", MLP, "--emit=c", "--no-cache", f"--ram-limit={text}", "-o", tmp_path)
    assert code == 1 and "more than the 65536 that --ram-limit allows" in err
    code, _, err = irtool("train-step", MLP, "--ram-limit", text, "--loss", "mse", "-o", tmp_path / "step.relay")
    assert code == 1 and "@main has no weight to train" in err  # behind the options


def test_other_sizes_are_wrong_usage(tmp_path: Path) -> None:
    code, _, err = irtool("build", MLP, "--emit=c", "--no-cache", "--ram-limit=1.5", "-o", tmp_path)
    assert code == 2 and "ram_limit='1.5' is no number of bytes" in err
    code, _, err = irtool("train-step", MLP, "--ram-limit", "1.5", "--loss", "mse", "-o", tmp_path / "step.relay")
    assert code == 2 and "'1.5' is not a size" in err
