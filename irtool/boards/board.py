"""A board: the processor, its memory, the tools for its programs, and the emulator that runs them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

GUARD = 1 << 16
"""Bytes below the RAM that no access reaches where the processor can forbid it: the stack lies first in RAM."""


@dataclass(frozen=True)
class Memory:
    """A part of the memory: its first address and its bytes."""

    address: int
    size: int

    @property
    def end(self) -> int:
        """The address behind it."""
        return self.address + self.size


@dataclass(frozen=True)
class Emulator:
    """The command that runs a program of a board.

    Attributes:
        command: words in which `{program}` stands for the program's path; in one of them, `{arguments}` stands for its arguments, each as
            in `argument`. A word that is `{arguments}` stands for as many words.
        argument: the form of an argument, whose text stands for `{}`.
        counting: further words, with which the program's counter counts instructions; none if it has no such counter.
        packages: Debian's packages with the command.
    """

    command: tuple[str, ...]
    argument: str = ""
    counting: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()

    def line(self, program: str, arguments: Sequence[str] = (), counts: bool = False) -> list[str]:
        """The command line for a program and its arguments."""
        joined = "".join(self.argument.replace("{}", a.replace(",", ",,")) for a in arguments)
        words: list[str] = [self.command[0], *(self.counting if counts else ())]
        for word in self.command[1:]:
            if word == "{arguments}":
                words += arguments
            else:
                words.append(word.replace("{arguments}", joined).replace("{program}", program))
        return words

    def record(self) -> dict[str, Any]:
        """The same for JSON."""
        return {
            "command": list(self.command),
            "argument": self.argument,
            "counting": list(self.counting),
            "packages": list(self.packages),
        }

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Emulator:
        """The emulator of a record."""
        lists = {n: tuple(record[n]) for n in ("command", "counting", "packages")}
        return cls(argument=record["argument"], **lists)


@dataclass(frozen=True)
class Board:
    """A board.

    Attributes:
        processor: the name that the compiler knows.
        fpu: the floating-point unit: `none`, `single` or `double`.
        prefix: of the commands of its tools: `arm-none-eabi-`.
        flags: for the compiler, beside the processor.
        link: further ones for linking.
        startup: the name of the template of its start-up code.
        packages: Debian's packages with the tools.
        emulator: None if programs are only built.
        origin: the path of the file that describes it; empty for a board that irtool has.
    """

    _: KW_ONLY
    name: str
    about: str
    family: str
    processor: str
    fpu: str
    flash: Memory
    ram: Memory
    prefix: str
    flags: tuple[str, ...]
    link: tuple[str, ...]
    startup: str
    packages: tuple[str, ...]
    emulator: Emulator | None = None
    origin: str = ""

    @property
    def compiler(self) -> str:
        """The command of its C compiler."""
        return f"{self.prefix}gcc"

    @property
    def guard(self) -> int:
        """The address of the memory below the RAM that nothing may access, so that a full stack is noticed; 0 where the flash is there."""
        begin = self.ram.address - GUARD
        overlaps = begin < self.flash.end and self.flash.address < self.ram.address
        return 0 if begin < 0 or overlaps or self.ram.address % GUARD else begin

    def record(self) -> dict[str, Any]:
        """The facts of a build report."""
        return {
            "name": self.name,
            "about": self.about,
            "processor": self.processor,
            "fpu": self.fpu,
            "flash_bytes": self.flash.size,
            "ram_bytes": self.ram.size,
            "prefix": self.prefix,
            "emulator": None if self.emulator is None else self.emulator.record(),
        }
