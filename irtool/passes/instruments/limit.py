"""Stops a pipeline early: after a number of passes or after a named one."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...ir import Module
from ..context import PassInfo, PassInstrument
from ..names import check_pass_names
from . import register_instrument


@register_instrument("StopAfter")
@dataclass
class StopAfter(PassInstrument):
    """Stops a pipeline early: after `limit` passes, or after the pass of that name.

    InferType does not count, nor what only runs other passes.
    """

    limit: int | str
    reached: bool = field(default=False, init=False)
    _ran: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        if isinstance(self.limit, str):
            check_pass_names([self.limit])

    def should_run(self, module: Module, info: PassInfo) -> bool:
        return not self.reached

    def run_after_pass(self, module: Module, info: PassInfo) -> None:
        if info.name != "InferType" and not info.runs_others:
            self._ran += 1
        self.reached = self.reached or self.limit in (self._ran, info.name)
