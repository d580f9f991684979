"""Prints modules around passes and programs around stages: before or after named ones, after each change, or as differences."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ...diagnostics import UsageError
from ...ir import Module
from ...printer.program import nest_text, program_text
from ...tir.program import Program
from ..core.context import PassInfo, PassInstrument
from ..core.names import check_pass_names
from . import register_instrument


@register_instrument("Printing")
@dataclass
class Printing(PassInstrument):
    """Prints modules before and after passes, and programs before and after build stages, on standard error.

    `before` and `after` are names of passes and stages, or contain `all`; `changed` is `""`, `"text"` (the module after each
    pass that changed it) or `"diff"` (a unified diff instead); a pass that changed nothing gets one line, or none if it ran only
    because another one requires it. `write(text)` and `show(module)` take the place of standard
    error and of `irtool.to_text`. `stages` are the names of all stages. Of programs, only kernels are printed whose names have a match of
    `kernel`, a regular expression, if there is one.
    """

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    changed: str = ""
    write: Callable[[str], None] | None = None
    show: Callable[[Module], str] | None = None
    stages: tuple[str, ...] = ()
    kernel: str = ""
    _open: list[str] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        check_pass_names((n for n in (*self.before, *self.after) if n != "all"), self.stages)
        if self.changed not in ("", "text", "diff"):
            raise UsageError(f"changed is text or diff, not {self.changed!r}")

    def run_before_pass(self, module: Module, info: PassInfo) -> None:
        watched = bool(self.changed) and not info.runs_others
        self._before(info.name, self._is_selected(info, self.before), watched, lambda: shown(module, self.show))

    def run_after_pass(self, module: Module, info: PassInfo) -> None:
        # What changed in a pass that runs others has been shown, pass by pass.
        watched = bool(self.changed) and not info.runs_others
        is_selected = self._is_selected(info, self.after)
        self._after(info.name, is_selected, watched, lambda: shown(module, self.show), info.is_prerequisite)

    def run_before_stage(self, program: Program, stage: str) -> None:
        self._before(stage, _named(stage, self.before), bool(self.changed), lambda: self._text(program))

    def run_after_stage(self, program: Program, stage: str) -> None:
        self._after(stage, _named(stage, self.after), bool(self.changed), lambda: self._text(program))

    def _text(self, program: Program) -> str:
        """The text of a program, or of its kernels that are chosen."""
        if not self.kernel:
            return program_text(program)
        return "\n".join(nest_text(k) for k in program.kernels if re.search(self.kernel, k.name))

    def _before(self, name: str, is_selected: bool, watched: bool, text: Callable[[], str]) -> None:
        old = text() if is_selected or watched else ""
        if is_selected:
            self._write(f"// before {name}\n{old}\n")
        self._open.append(old if watched else "")

    def _after(
        self, name: str, is_selected: bool, watched: bool, text: Callable[[], str], is_prerequisite: bool = False
    ) -> None:
        """Prints the module or the difference after a step. "No change" is printed for steps that were named only."""
        old = self._open.pop() if self._open else ""  # the stage that makes the program begins with nothing
        new = text() if is_selected or watched else ""
        if is_selected:
            self._write(f"// after {name}\n{new}\n")
        if not watched:
            return
        if new == old:
            if not is_prerequisite:
                self._write(f"// {name} changed nothing\n")
        elif self.changed == "diff":
            lines = difflib.unified_diff(old.splitlines(), new.splitlines(), "before", f"after {name}", lineterm="")
            self._write("\n".join(lines) + "\n")
        else:
            self._write(f"// after {name}\n{new}\n")

    def _write(self, text: str) -> None:
        if self.write is not None:
            self.write(text)
        else:
            sys.stderr.write(text)

    @staticmethod
    def _is_selected(info: PassInfo, names: Iterable[str]) -> bool:
        return info.name in names or ("all" in names and not info.runs_others)


def _named(stage: str, names: Iterable[str]) -> bool:
    return stage in names or "all" in names


def shown(module: Module, show: Callable[[Module], str] | None) -> str:
    """The text of a module, by `show` if there is one."""
    if show is not None:
        return show(module)
    from ...printer import to_text

    return to_text(module)
