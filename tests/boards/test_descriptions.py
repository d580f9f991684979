"""Boards as data: the rows that irtool has, files of users, and what is wrong with some."""

from __future__ import annotations

from pathlib import Path

import pytest

from irtool.boards.board import Emulator
from irtool.boards.listing import board_names, find_board
from irtool.boards.project import linker_script, makefile, startup_code
from irtool.diagnostics import IrError, UsageError

ROW = """about = "A board"
family = "cortex-m"
processor = "cortex-m4"
fpu = "single"
machine = "mps2-an386"
flash = { address = 0x08000000, size = "1M" }
ram = { address = 0x20000000, size = 131072 }
"""


def write(folder: Path, text: str) -> str:
    path = folder / "own.toml"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("name", board_names())
def test_every_row_describes_a_board(name: str) -> None:
    board = find_board(name)
    assert board.name == name and board.emulator is not None
    assert board.emulator.packages and board.packages
    line = board.emulator.line("net.elf", ["net", "in0.raw"])
    assert line[0].startswith("qemu-system-") and "net.elf" in line
    assert any(",arg=net,arg=in0.raw" in word for word in line)
    assert not any("{" in word for word in line)
    assert board.guard  # a full stack is noticed
    script = linker_script(board, 2048)
    assert f"LENGTH = {board.ram.size}" in script and "@" not in script
    assert "SYS_EXIT_EXTENDED" in startup_code(board)


def test_a_file_of_a_user(tmp_path: Path) -> None:
    board = find_board(write(tmp_path, ROW))
    assert (board.name, board.flash.size, board.ram.size) == ("own", 1 << 20, 128 << 10)
    assert board.compiler == "arm-none-eabi-gcc" and "-mfloat-abi=hard" in board.flags
    replaced = find_board(write(tmp_path, ROW + 'prefix = "my-"\nflags = ["-g"]\nlink = []\n'))
    assert (replaced.compiler, replaced.flags, replaced.link, replaced.packages) == ("my-gcc", ("-g",), (), ())


def test_a_board_need_not_have_an_emulator(tmp_path: Path) -> None:
    board = find_board(write(tmp_path, ROW.replace('machine = "mps2-an386"\n', "")))
    assert board.emulator is None
    text = makefile(board, "net", ["cc"], ["-g"], ["net.c"], "net_test.c")
    assert "the description of own has no emulator" in text


def test_an_emulator_of_ones_own(tmp_path: Path) -> None:
    text = ROW.replace('machine = "mps2-an386"\n', "") + '[emulator]\ncommand = ["flash", "{program}", "{arguments}"]\n'
    emulator = find_board(write(tmp_path, text)).emulator
    assert emulator is not None
    assert emulator.line("a.elf", ["x", "y"]) == ["flash", "a.elf", "x", "y"]
    assert Emulator.of_record(emulator.record()) == emulator


WRONG = {
    "unknown key": (ROW + "falsh = 1\n", "unknown key falsh", "did you mean flash?"),
    "missing key": (ROW.replace('fpu = "single"\n', ""), "fpu is missing", ""),
    "family": (ROW.replace("cortex-m", "cortex-n", 1), "family is 'cortex-n', not one of cortex-m, riscv", "did you mean cortex-m?"),
    "fpu": (ROW.replace("single", "half"), "fpu is 'half'", ""),
    "address": (ROW.replace("0x20000000", "-1"), "ram.address is no address", ""),
    "size": (ROW.replace("131072", '"128 kilobytes"'), "ram.size is no size", ""),
    "zero": (ROW.replace("131072", "0"), "ram.size is no size", ""),
    "beyond": (ROW.replace("131072", '"4096M"'), "ram.size is no size", ""),
    "overlap": (ROW.replace("0x20000000", "0x08080000"), "flash and ram overlap", ""),
    "table": (ROW.replace('{ address = 0x08000000, size = "1M" }', "3"), "flash is no table", ""),
    "key of a table": (ROW.replace("address = 0x08000000", "adress = 1"), "unknown key flash.adress", "did you mean address?"),
    "text": (ROW.replace('"A board"', "3"), "about is no text", ""),
    "lines": (ROW.replace('"A board"', '"a\\nb"'), "about is no text in one line", ""),
    "words": (ROW + 'flags = "-g"\n', "flags is no list of words", ""),
    "two emulators": (ROW + '[emulator]\ncommand = ["x", "{program}"]\n', "there is another one", "leave one of them out"),
    "no program": (ROW.replace('machine = "mps2-an386"\n', "") + '[emulator]\ncommand = ["x"]\n', "has no {program}", ""),
    "no TOML": ("about = ", "is no TOML", ""),
    "bytes": ("\udcff", "is no TOML", ""),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_wrong_descriptions_name_file_and_key(case: str, tmp_path: Path) -> None:
    text, message, hint = WRONG[case]
    path = tmp_path / "own.toml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(IrError) as caught:
        find_board(str(path))
    (diagnostic,) = caught.value.diagnostics
    assert message in diagnostic.message and "own.toml" in diagnostic.message
    assert hint in (diagnostic.help or "")


def test_unknown_names_and_files(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown board mps2-an38") as caught:
        find_board("mps2-an38")
    assert "did you mean" in str(caught.value.diagnostics[0].help)
    for path in (str(tmp_path / "absent.toml"), str(tmp_path)):
        with pytest.raises(IrError, match="cannot read the board"):
            find_board(path)
