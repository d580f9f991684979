"""Writes the module after each pass that changed it into numbered files."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from ...diagnostics import IrError
from ...files import Draft
from ...ir import Module
from ..core.context import PassInfo, PassInstrument
from . import register_instrument
from .printing import shown


@register_instrument("Dump")
@dataclass
class Dump(PassInstrument):
    """Writes the module after each pass that changes it to numbered files in `folder`, which is created if needed.

    The files are called `00.input.relay`, `01.FuseOps.relay`, …; numbers count the passes that ran. `write(name, text)` and
    `show(module)` take the place of writing there and of `irtool.to_text`.
    """

    folder: str = "."
    write: Callable[[str, str], None] | None = None
    show: Callable[[Module], str] | None = None
    _ran: int = field(default=0, init=False)
    _open: list[str] = field(default_factory=list, init=False)

    def run_before_pass(self, module: Module, info: PassInfo) -> None:
        if info.runs_others:
            return
        text = shown(module, self.show)
        if self._ran == 0 and not self._open:
            self._write("00.input.relay", text)
        self._open.append(text)

    def run_after_pass(self, module: Module, info: PassInfo) -> None:
        if info.runs_others:
            return
        self._ran += 1
        text = shown(module, self.show)
        if text != self._open.pop():
            name = re.sub(r"[^\w.-]", "_", info.name)
            self._write(f"{self._ran:02d}.{name}.relay", text)

    def _write(self, name: str, text: str) -> None:
        if self.write is not None:
            self.write(name, text)
            return
        path = os.path.join(self.folder, name)
        try:
            os.makedirs(self.folder, exist_ok=True)
            with Draft(path, follow=False) as draft:
                draft.out.write(text.encode("utf-8"))
        except OSError as error:
            raise IrError(f"cannot write {path}: {error.strerror or error}") from None
