"""Prints modules around passes: before or after named ones, after each that changed something, or what changed."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ...ir import Module
from ..context import PassInfo, PassInstrument


@dataclass
class Printing(PassInstrument):
    """Writes text through `write`.

    `before` and `after` are pass names, or contain `all`; `changed` is `""`, `"text"` (the module after each pass that
    changed it) or `"diff"` (a unified diff instead).
    """

    write: Callable[[str], None]
    show: Callable[[Module], str]
    before: Iterable[str] = ()
    after: Iterable[str] = ()
    changed: str = ""
    _open: list[str] = field(default_factory=list)

    def run_before_pass(self, module: Module, info: PassInfo) -> None:
        if self._wanted(info, self.before):
            self.write(f"// before {info.name}\n{self.show(module)}\n")
        self._open.append(self.show(module) if self.changed and not info.runs_others else "")

    def run_after_pass(self, module: Module, info: PassInfo) -> None:
        old = self._open.pop()
        if self._wanted(info, self.after):
            self.write(f"// after {info.name}\n{self.show(module)}\n")
        if not self.changed or info.runs_others:  # what changed has been shown, pass by pass
            return
        new = self.show(module)
        if new == old:
            self.write(f"// {info.name} changed nothing\n")
        elif self.changed == "diff":
            lines = difflib.unified_diff(
                old.splitlines(), new.splitlines(), "before", f"after {info.name}", lineterm=""
            )
            self.write("\n".join(lines) + "\n")
        else:
            self.write(f"// after {info.name}\n{new}\n")

    @staticmethod
    def _wanted(info: PassInfo, names: Iterable[str]) -> bool:
        return info.name in names or ("all" in names and not info.runs_others)
