"""Keeps the module after each pass that changes it, and the program after each stage, as numbered files."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...ir import Module
from ...printer.program import program_text
from ...tir.program import Program
from ..core.context import PassInfo, PassInstrument
from . import register_instrument


@register_instrument("Dumping")
@dataclass
class Dumping(PassInstrument):
    """Keeps texts of a build: the module at its beginning and after each pass that changed it, constants left out, and the program after
    each stage that changed it.

    `files` has the texts by name, numbered in their order: `000-input.relay`, `001-FuseOps.relay`, `014-PlanMemory.tir`.
    """

    files: dict[str, str] = field(default_factory=dict, init=False)
    _last: dict[str, str] = field(default_factory=dict, init=False)

    def run_before_pass(self, module: Module, info: PassInfo) -> None:
        if not self.files:
            self._keep("input", "relay", _text(module))

    def run_after_pass(self, module: Module, info: PassInfo) -> None:
        if not info.runs_others:
            self._keep(info.name, "relay", _text(module))

    def run_after_stage(self, program: Program, stage: str) -> None:
        self._keep(stage, "tir", program_text(program))

    def _keep(self, name: str, ending: str, text: str) -> None:
        """Adds a file, unless the text is the last one of its kind."""
        if self._last.get(ending) != text:
            self._last[ending] = text
            self.files[numbered(len(self.files), name, ending)] = text


def numbered(number: int, name: str, ending: str) -> str:
    """`003-FuseOps.relay`."""
    safe = "".join(c if c.isalnum() or c in "._-" else "_" for c in name)
    return f"{number:03}-{safe}.{ending}"


def _text(module: Module) -> str:
    from ...printer import to_text

    return to_text(module, constants="elide")
