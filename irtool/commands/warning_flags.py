"""Warnings of commands, and the flags about them: `-Werror`, `-Werror=CODE`, `-Wno-error=CODE`, `-Wno-CODE`, `-WCODE`.

They mean what they mean to C compilers. A flag that names a code goes before one that names none, wherever they stand; of two
flags about the same code the later one holds.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import click

from ..diagnostics import Code, Diagnostic, IrError, UsageError, render
from .mistakes import BadValue

WARNING, ERROR, SILENT = "warning", "error", ""
_KEY = "irtool.warning_flags"
_LINE = re.compile(r"(?:(?P<place>[^\n]*?): )?warning(?:\[(?P<code>\w+)\])?: ")


@dataclass(frozen=True)
class WarningFlags:
    """The levels of warnings.

    Attributes:
        by_code: the level of each code that a flag names.
        others: the level of all other warnings, those without a code among them.
    """

    by_code: Mapping[str, str] = field(default_factory=dict)
    others: str = WARNING

    @classmethod
    def parse(cls, flags: Iterable[str]) -> WarningFlags:
        """The levels that flags such as `error=W0102` and `no-W0102` set, in their order. Raises UsageError for any other text."""
        by_code: dict[str, str] = {}
        others = WARNING
        for flag in flags:
            if flag in ("error", "no-error"):
                others = ERROR if flag == "error" else WARNING
                continue
            match = re.fullmatch(r"(error=|no-error=|no-|)([A-Za-z]\w+)", flag)
            if match is None:
                raise UsageError(
                    f"-W{flag}: the flags are -Werror, -Wno-error, -Werror=CODE, -Wno-error=CODE, -Wno-CODE and -WCODE",
                    code=BadValue,
                )
            by_code[_code(match[2]).name] = _LEVELS[match[1]]
        return cls(by_code, others)

    def level(self, code: str) -> str:
        """The level of a warning with that code; the code is empty for a warning without one."""
        return self.by_code.get(code, self.others)

    def applied(self, diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
        """The diagnostics in which warnings have the levels of the flags, without those that are silent.

        Notes with a code have these levels, too, where a flag names the code.
        """
        result = []
        for d in diagnostics:
            level = self._level_of(d)
            if level == ERROR != d.level:
                result.append(replace(d, level=level, notes=(*d.notes, _REASON)))
            elif level:
                result.append(d)
        return result

    def _level_of(self, diagnostic: Diagnostic) -> str:
        code = diagnostic.code.name if diagnostic.code is not None else ""
        if diagnostic.level == WARNING or (diagnostic.level == "note" and code in self.by_code):
            return self.level(code)
        return diagnostic.level

    def printed(self, texts: Iterable[str]) -> list[str]:
        """The same for warnings and notes that are texts, as reports of builds have them. Raises IrError for errors."""
        shown, errors = [], []
        for text in texts:
            match = _LINE.match(text)
            level = self.level(match["code"] or "") if match else WARNING
            if match and level == ERROR:
                errors.append(_diagnostic(match))
            elif level:
                shown.append(text)
        if errors:
            raise IrError(errors)
        return shown


_LEVELS = {"error=": ERROR, "no-error=": WARNING, "no-": SILENT, "": WARNING}
_REASON = "-Werror makes an error of this warning"


def current_flags() -> WarningFlags:
    """The flags of the command that runs."""
    ctx = click.get_current_context(silent=True)
    return ctx.meta.get(_KEY, WarningFlags()) if ctx is not None else WarningFlags()


def remember_flags(ctx: click.Context, option: click.Parameter, values: Sequence[str]) -> None:
    """The callback of the option `-W`."""
    if values:
        ctx.meta[_KEY] = WarningFlags.parse(values)


def warn(diagnostic: Diagnostic) -> None:
    """Prints a warning or a note on standard error. Raises IrError if a flag makes an error of it."""
    warn_of([diagnostic])


def warn_of(diagnostics: Sequence[Diagnostic]) -> list[str]:
    """The same for several; returns their texts."""
    applied = current_flags().applied(diagnostics)
    errors = [d for d in applied if d.level == ERROR]
    if errors:
        raise IrError(errors)
    texts = [render([d]) for d in applied]
    if texts:
        sys.stdout.flush()
        print("\n".join(texts), file=sys.stderr)
    return texts


def say_warning(sentence: str, code: type[Code] | None = None) -> None:
    """Prints a warning about the result, also if the command is to be quiet. Raises IrError if a flag makes an error of it."""
    warn(Diagnostic(sentence, level=WARNING, code=code))


def _code(name: str) -> type[Code]:
    from .code_manual import find_code

    cls = find_code(name)
    if not (cls.name.startswith("W") or cls.may_warn):
        raise UsageError(f"-W is about warnings, and {cls.name} is always an error", code=BadValue)
    return cls


def _diagnostic(head: re.Match[str]) -> Diagnostic:
    """The error for the text of a warning that begins with that head."""
    from .code_manual import find_code

    code = find_code(head["code"]) if head["code"] else None
    return Diagnostic(head.string[head.end() :], filename=head["place"] or "", code=code, notes=(_REASON,))
