"""Notes which passes run."""

from __future__ import annotations

from ...ir import Module
from ...passes.core.context import PassInfo, PassInstrument


class Recording(PassInstrument):
    """Notes the texts of the passes that run, in order, those left out that only run others.

    Attributes:
        ran: the texts.
    """

    def __init__(self) -> None:
        self.ran: list[str] = []

    def run_before_pass(self, module: Module, info: PassInfo) -> None:
        if not info.runs_others and info.made_for is not None and info.name != "InferType":
            self.ran.append(info.made_for.text())
