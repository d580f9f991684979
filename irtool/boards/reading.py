"""Files that describe boards, in TOML.

A board names its family, whose file has the tools and the emulator of this kind of processor; what the board's own file says about these
replaces it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..byte_sizes import read_size
from ..diagnostics import IrError, nearest
from ..files import open_file
from .board import Board, Emulator, Memory

_FAMILIES = Path(__file__).parent / "families"
_FPUS = ("none", "single", "double")
_KEYS = (
    "about",
    "family",
    "processor",
    "fpu",
    "machine",
    "flash",
    "ram",
    "prefix",
    "packages",
    "flags",
    "link",
    "emulator",
)
_NEEDED = ("about", "family", "processor", "fpu", "flash", "ram")
_MAY_BE_EMPTY = ("argument", "prefix")
_OF_EMULATORS = ("command", "argument", "counting", "packages")
_LARGEST = 1 << 20
"""Bytes of a file."""


def read_board(path: Path, origin: str = "") -> Board:
    """The board that a file describes; `origin` is the user's path. Raises IrError, naming the file and the key."""
    row = _toml(path)
    own = _Row(row, origin or str(path))
    own.check_keys(_KEYS, _NEEDED)
    families = sorted(p.stem for p in _FAMILIES.glob("*.toml"))
    family = own.word("family", families)
    tools = _toml(_FAMILIES / f"{family}.toml")
    fpu = own.word("fpu", _FPUS)
    flash, ram = own.memory("flash"), own.memory("ram")
    if flash.address < ram.end and ram.address < flash.end:
        raise own.wrong("flash and ram overlap")
    flags = own.words("flags") if "flags" in row else (*tools["flags"], *tools["fpu"][fpu])
    return Board(
        name=path.stem,
        about=own.text("about"),
        family=family,
        processor=own.text("processor"),
        fpu=fpu,
        flash=flash,
        ram=ram,
        prefix=own.text("prefix") if "prefix" in row else tools["prefix"],
        flags=tuple(flags),
        link=own.words("link") if "link" in row else tuple(tools["link"]),
        startup=tools["startup"],
        packages=own.words("packages") if "packages" in row else (() if "prefix" in row else tuple(tools["packages"])),
        emulator=_emulator(own, tools["emulator"]),
        origin=origin,
    )


def _emulator(own: _Row, usual: Mapping[str, Any]) -> Emulator | None:
    """The emulator of the file, or the family's for its machine; None if it names neither."""
    if "emulator" in own.row:
        if "machine" in own.row:
            raise own.wrong("machine is for the family's emulator, and there is another one", "leave one of them out")
        table = own.table("emulator")
        table.check_keys(_OF_EMULATORS, ("command",))
        command = table.words("command")
        if not any("{program}" in word for word in command[1:]):
            raise own.wrong("emulator.command has no {program}")
        lists = {n: table.words(n) for n in ("counting", "packages") if n in table.row}
        return Emulator(command, table.text("argument") if "argument" in table.row else "", **lists)
    if "machine" not in own.row:
        return None
    machine = own.text("machine")
    command = tuple(word.replace("{machine}", machine) for word in usual["command"])
    return Emulator(command, usual["argument"], tuple(usual["counting"]), tuple(usual["packages"]))


def _toml(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        with open_file(path) as file:
            text = file.read(_LARGEST + 1)
    except OSError as error:
        raise IrError(f"cannot read the board {path}: {error.strerror or error}") from None
    if len(text) > _LARGEST:
        raise IrError(f"the board {path} has more than {_LARGEST} bytes")
    try:
        return tomllib.loads(text.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise IrError(f"the board {path} is no TOML: {error}") from None


class _Row:
    """A table of a file, whose values are read with their types."""

    def __init__(self, row: Mapping[str, Any], origin: str, prefix: str = "") -> None:
        self.row = row
        self.origin = origin
        self.prefix = prefix

    def wrong(self, message: str, help: str = "") -> IrError:
        """An error of this file."""
        return IrError(f"{self.origin}: {message}", help=help or None)

    def check_keys(self, known: tuple[str, ...], needed: tuple[str, ...]) -> None:
        """Raises IrError for unknown and missing keys."""
        for key in self.row:
            if key not in known:
                raise self.wrong(
                    f"unknown key {self.prefix}{key}", nearest(key, known) or f"the keys are {', '.join(known)}"
                )
        for key in needed:
            if key not in self.row:
                raise self.wrong(f"{self.prefix}{key} is missing")

    def text(self, key: str) -> str:
        """A value that is text in one line."""
        value = self.row[key]
        if not isinstance(value, str) or not value.isprintable() or (not value.strip() and key not in _MAY_BE_EMPTY):
            raise self.wrong(f"{self.prefix}{key} is no text in one line")
        return value

    def word(self, key: str, choices: list[str] | tuple[str, ...]) -> str:
        """A value that is one of some words."""
        value = self.text(key)
        if value not in choices:
            raise self.wrong(
                f"{self.prefix}{key} is {value!r}, not one of {', '.join(choices)}", nearest(value, choices)
            )
        return value

    def words(self, key: str) -> tuple[str, ...]:
        """A value that is a list of words."""
        value = self.row[key]
        if not isinstance(value, list) or not all(isinstance(v, str) and v.isprintable() for v in value):
            raise self.wrong(f"{self.prefix}{key} is no list of words")
        if key == "command" and not (value and value[0]):
            raise self.wrong(f"{self.prefix}{key} is empty")
        return tuple(value)

    def table(self, key: str) -> _Row:
        """A value that is a table."""
        value = self.row[key]
        if not isinstance(value, dict):
            raise self.wrong(f"{self.prefix}{key} is no table")
        return _Row(value, self.origin, f"{self.prefix}{key}.")

    def memory(self, key: str) -> Memory:
        """A value that is a part of the memory: `{ address = 0x20000000, size = "64K" }`."""
        table = self.table(key)
        table.check_keys(("address", "size"), ("address", "size"))
        address, size = table.row["address"], table.row["size"]
        if isinstance(address, bool) or not isinstance(address, int) or not 0 <= address < 1 << 32:
            raise self.wrong(f"{table.prefix}address is no address of 32 bits")
        nbytes = size if isinstance(size, int) and not isinstance(size, bool) else read_size(size)
        if nbytes is None or nbytes <= 0 or address + nbytes > 1 << 32:
            raise self.wrong(f'{table.prefix}size is no size within 32 bits, such as 65536 or "64K"')
        return Memory(address, nbytes)
