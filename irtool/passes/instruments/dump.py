"""Writes the module after each pass that changed it into numbered files."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from ...ir import Module
from ..context import PassInfo, PassInstrument


@dataclass
class Dump(PassInstrument):
    """`write(name, text)` is called with `00.input.relay`, `01.FuseOps.relay`, … ; numbers count the passes that ran."""

    write: Callable[[str, str], None]
    show: Callable[[Module], str]
    _ran: int = 0
    _open: list[str] = field(default_factory=list)

    def run_before_pass(self, module: Module, info: PassInfo) -> None:
        if info.runs_others:
            return
        text = self.show(module)
        if self._ran == 0 and not self._open:
            self.write("00.input.relay", text)
        self._open.append(text)

    def run_after_pass(self, module: Module, info: PassInfo) -> None:
        if info.runs_others:
            return
        self._ran += 1
        text = self.show(module)
        if text != self._open.pop():
            name = re.sub(r"[^\w.-]", "_", info.name)
            self.write(f"{self._ran:02d}.{name}.relay", text)
