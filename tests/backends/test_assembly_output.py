"""`--emit=asm`: the instructions of a network as text, which the assembler takes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.command_line import irtool

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(8, 16), float32], %w: Tensor[(4, 16), float32]) { nn.relu(nn.dense(%x, %w, units=4)) }
"""


@pytest.fixture(name="net")
def _net(tmp_path: Path) -> Path:
    (tmp_path / "net.relay").write_text(TEXT)
    return tmp_path / "net.relay"


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
@pytest.mark.parametrize("options", [(), ("--mcpu=none",), ("--mcpu=x86-64-v2,x86-64-v3",), ("--profile=certifiable",)])
def test_the_assembler_takes_it(options: tuple[str, ...], net: Path, tmp_path: Path) -> None:
    code, out, err = irtool("build", "--emit=asm", *options, net, "-o", tmp_path / "out")
    assert code == 0, err
    assert f"wrote {tmp_path}/out/net.s" in out
    subprocess.run(["gcc", "-c", "net.s", "-o", "net.o"], cwd=tmp_path / "out", check=True)
    symbols = subprocess.run(["nm", "net.o"], cwd=tmp_path / "out", capture_output=True, text=True, check=True).stdout
    assert " T net_run\n" in symbols
    text = (tmp_path / "out" / "net.s").read_text()
    assert ".cfi_" not in text and str(tmp_path) not in text


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_it_can_be_printed_and_is_the_same_each_time(net: Path, tmp_path: Path) -> None:
    code, out, _ = irtool("build", "--emit=asm", "--no-cache", net, "-o", "-")
    assert code == 0 and "net_run:" in out
    assert irtool("build", "--emit=asm", "--no-cache", net, "-o", tmp_path / "net.s")[0] == 0
    assert (tmp_path / "net.s").read_text() == out


@pytest.mark.skipif(shutil.which("clang-16") is None, reason="needs clang")
def test_llvm_has_it_too(net: Path) -> None:
    code, out, err = irtool("build", "--target=llvm", "--emit=asm", net, "-o", "-")
    assert code == 0 and "net_run:" in out, err


def test_other_processors(net: Path) -> None:
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("needs arm-none-eabi-gcc")
    code, out, err = irtool("build", "--emit=asm", "--board=mps2-an386", net, "-o", "-")
    assert code == 0 and ".thumb" in out, err


def test_what_it_cannot_be(net: Path, tmp_path: Path) -> None:
    code, _, err = irtool("build", "--emit=asm", "--target=wasm", net, "-o", tmp_path / "o")
    assert code == 2 and "asm" in err
    code, _, err = irtool("build", "--emit=asm", "--cc=no-such-compiler", net, "-o", tmp_path / "o")
    assert code == 4 and not (tmp_path / "o" / "net.s").exists()
