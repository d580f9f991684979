"""Stops a pipeline early: after a number of passes or after a named one."""

from __future__ import annotations

from dataclasses import dataclass

from ...ir import Module
from ..context import PassInfo, PassInstrument


@dataclass
class StopAfter(PassInstrument):
    """`limit` is a number of passes or the name of a pass. InferType does not count, nor what only runs other passes."""

    limit: int | str
    reached: bool = False
    _ran: int = 0

    def should_run(self, module: Module, info: PassInfo) -> bool:
        return not self.reached

    def run_after_pass(self, module: Module, info: PassInfo) -> None:
        if info.name != "InferType" and not info.runs_others:
            self._ran += 1
        self.reached = self.reached or self.limit in (self._ran, info.name)
