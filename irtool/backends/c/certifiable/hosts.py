"""Host functions and runs by the rules: memory of static size, which the functions that begin a run check once; one exit each."""

from __future__ import annotations

from dataclasses import dataclass

from ....tir.errors import WORKSPACE_ERROR
from ....tir.program import HostFunction
from ..frame import ARENA, Frame
from ..runs import RunWriter, own_storage

WORD = 8
"""Alignment, in bytes, of a workspace: that of the largest element."""


@dataclass(frozen=True)
class StaticFrame(Frame):
    """The frame of a function whose caller has checked the workspace."""

    @property
    def names(self) -> list[str]:
        return [ARENA]

    @property
    def declarations(self) -> list[str]:
        return [f"unsigned char *{ARENA}"]

    def address(self, offset: int) -> str:
        return f"&{ARENA}[{offset}]"

    def handed(self, offset: int, callee: HostFunction) -> list[str]:
        return [self.address(offset)]

    def check(self) -> str:
        return ""


class StaticRunWriter(RunWriter):
    """Writes the functions of one entry point."""

    @property
    def memory(self) -> list[str]:
        return ["unsigned char *base"]

    @property
    def handed(self) -> list[str]:
        return ["base"]

    def memory_of(self, function: HostFunction) -> list[str]:
        return self.handed

    def write(self, last: str) -> str:
        e, size, symbol = self.entry, f"{self.name.upper()}_ARENA_SIZE", own_storage(self.name)
        return (
            f"{self._head_with}"
            f"  int code = {WORKSPACE_ERROR};\n"
            f"  unsigned char *const base = (unsigned char *)arena;\n"
            f"  if ((base != NULL) && (size >= {size}) && (((uintptr_t)base % {WORD}u) == 0u)) {{\n"
            f"    {last};\n"
            f"    code = 0;\n"
            f"  }}\n"
            f"  return code;\n}}\n\n"
            f"int {e.run}({e.declarations or 'void'}) {{\n"
            f"  return {e.run_with}({symbol}.bytes, {size}{self._separator}{e.arguments});\n}}\n"
        )


def storage(name: str) -> list[str]:
    """The network's own workspace, aligned for all elements."""
    macro = f"{name.upper()}_ARENA"
    return [
        '/* In front of the workspace, such as __attribute__((section(".ram2"))). */',
        f"#ifndef {macro}_ATTR",
        f"#define {macro}_ATTR",
        "#endif",
        f"static {macro}_ATTR union {{",
        f"  unsigned char bytes[{macro}_SIZE];",
        "  int64_t word;",
        "  double number;",
        f"}} {own_storage(name)};",
        "",
    ]
