"""The files of a program for a board beside its C: start-up code, linker script, Makefile."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..byte_sizes import show_size
from .board import Board

_TEMPLATES = Path(__file__).parent / "templates"

LINKER_SCRIPT = "board.ld"
STARTUP = "startup.c"

PROGRAM_STACK = 4096
"""Bytes of the stack beside those of a run: what a `main` takes that prints numbers and reads files."""


def startup_code(board: Board) -> str:
    """The C of the start-up code."""
    return "".join((_TEMPLATES / name).read_text(encoding="utf-8") for name in (board.startup, "program.c"))


def linker_script(board: Board, stack_bytes: int) -> str:
    """The linker script of a program whose runs take that many bytes of the stack."""
    fields = {
        "ABOUT": board.about.replace("*/", "* /"),
        "FLASH": hex(board.flash.address),
        "FLASH_SIZE": str(board.flash.size),
        "RAM": hex(board.ram.address),
        "RAM_SIZE": str(board.ram.size),
        "STACK": str(stack_bytes + PROGRAM_STACK),
        "GUARD": hex(board.guard),
    }
    return _filled(f"{LINKER_SCRIPT}.template", fields)


def link_flags(board: Board) -> list[str]:
    """The flags that link a program in the folder of the linker script."""
    return [*board.link, "-T", LINKER_SCRIPT]


def makefile(
    board: Board, name: str, command: Sequence[str], flags: Sequence[str], sources: Sequence[str], main: str
) -> str:
    """The Makefile of a network's sources; `command` and `flags` are the compiler's, `main` is the source with `main`."""
    emulator = board.emulator
    if emulator is None:
        run = f"\t@echo 'the description of {_quoted(board.name)} has no emulator'; exit 1"
    else:
        run = f"\t{shlex.join(emulator.line(f'{name}.elf', [name])).replace('$', '$$')}"
    fields = {
        "ABOUT": f"{name} for {board.about}",
        "NAME": name,
        "WHERE": "" if emulator is None else f" by {emulator.command[0]}",
        "CC": shlex.join(command),
        "SIZE": f"{board.prefix}size",
        "CFLAGS": " ".join(map(_make_word, flags)),
        "LDFLAGS": " ".join(map(_make_word, link_flags(board))),
        "MAIN": main,
        "OBJECTS": " ".join(f"{s[:-2]}.o" for s in sources),
        "RUN": run,
    }
    return _filled("Makefile.template", fields)


def show_memory(board: Board) -> tuple[str, str]:
    """The sizes of flash and RAM with their addresses."""
    flash, ram = (f"{show_size(m.size)} at {m.address:#010x}" for m in (board.flash, board.ram))
    return flash, ram


def _quoted(text: str) -> str:
    return re.sub(r"[^\w .-]", "_", text)


def _make_word(text: str) -> str:
    return shlex.quote(text).replace("$", "$$").replace("#", "\\#")


def _filled(template: str, fields: Mapping[str, str]) -> str:
    """The template with the fields in the places of their names."""
    text = (_TEMPLATES / template).read_text(encoding="utf-8")
    return re.sub(r"@([A-Z_]+)@", lambda match: fields[match[1]], text)
