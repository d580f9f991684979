"""Stops a pipeline early: after a number of passes or after a named one."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...diagnostics import UsageError
from ...ir import Module
from ..core.context import PassInfo, PassInstrument
from ..core.names import check_pass_names
from . import register_instrument


@register_instrument("StopAfter")
@dataclass
class StopAfter(PassInstrument):
    """Stops a pipeline early: after `limit` passes, or after a named pass.

    InferType and passes that only run other passes do not count.
    """

    limit: int | str
    reached: bool = field(default=False, init=False)
    _ran: list[str] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        if isinstance(self.limit, str):
            check_pass_names([self.limit])

    def should_run(self, module: Module, info: PassInfo) -> bool:
        return not self.reached

    def run_after_pass(self, module: Module, info: PassInfo) -> None:
        if info.name != "InferType" and not info.runs_others:
            self._ran.append(info.name)
        self.reached = self.reached or self.limit in (len(self._ran), info.name)

    def check_reached(self) -> None:
        """Raises UsageError if all passes ran, but none was the one to stop after: the module is not the one asked for."""
        if self.reached:
            return
        what = f"{self.limit} passes" if isinstance(self.limit, int) else f"pass {self.limit}"
        ran = f"only {len(self._ran)} ran: {', '.join(self._ran)}" if self._ran else "no pass ran"
        raise UsageError(f"cannot stop after {what}: {ran}")
