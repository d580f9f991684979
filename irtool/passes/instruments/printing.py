"""Prints modules around passes: before or after named ones, after each that changed something, or what changed."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ...diagnostics import UsageError
from ...ir import Module
from ..context import PassInfo, PassInstrument
from ..names import check_pass_names
from . import register_instrument


@register_instrument("Printing")
@dataclass
class Printing(PassInstrument):
    """Prints modules around passes, on standard error.

    `before` and `after` are pass names, or contain `all`; `changed` is `""`, `"text"` (the module after each pass that
    changed it) or `"diff"` (a unified diff instead). `write(text)` and `show(module)` take the place of standard error and of
    `irtool.to_text`.
    """

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    changed: str = ""
    write: Callable[[str], None] | None = None
    show: Callable[[Module], str] | None = None
    _open: list[str] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        check_pass_names(n for n in (*self.before, *self.after) if n != "all")
        if self.changed not in ("", "text", "diff"):
            raise UsageError(f"changed is text or diff, not {self.changed!r}")

    def run_before_pass(self, module: Module, info: PassInfo) -> None:
        if self._wanted(info, self.before):
            self._write(f"// before {info.name}\n{shown(module, self.show)}\n")
        self._open.append(shown(module, self.show) if self.changed and not info.runs_others else "")

    def run_after_pass(self, module: Module, info: PassInfo) -> None:
        old = self._open.pop()
        if self._wanted(info, self.after):
            self._write(f"// after {info.name}\n{shown(module, self.show)}\n")
        if not self.changed or info.runs_others:  # what changed has been shown, pass by pass
            return
        new = shown(module, self.show)
        if new == old:
            self._write(f"// {info.name} changed nothing\n")
        elif self.changed == "diff":
            lines = difflib.unified_diff(
                old.splitlines(), new.splitlines(), "before", f"after {info.name}", lineterm=""
            )
            self._write("\n".join(lines) + "\n")
        else:
            self._write(f"// after {info.name}\n{new}\n")

    def _write(self, text: str) -> None:
        if self.write is not None:
            self.write(text)
        else:
            sys.stderr.write(text)

    @staticmethod
    def _wanted(info: PassInfo, names: Iterable[str]) -> bool:
        return info.name in names or ("all" in names and not info.runs_others)


def shown(module: Module, show: Callable[[Module], str] | None) -> str:
    """The text of a module, by `show` if there is one."""
    if show is not None:
        return show(module)
    from ...printer import to_text

    return to_text(module)
