"""Places in the source, and diagnostics about them.

`Source` is one text with a name, `Span` a range of it, `Diagnostic` one message about a span, `Code` the kind of mistake
that it is about, and `IrError` the exception that carries one or more diagnostics out of irtool. `render` draws them the way
compilers do::

    net.relay:3:8: error[E0104]: unknown operator nn.conv2D
      %0 = nn.conv2D(%x, %w);
           ^^^^^^^^^
    help: did you mean nn.conv2d?
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

from .did_you_mean import nearest as nearest  # every room asks for it here

_WIDEST = 160
"""Longest stretch of a source line that is drawn; a caret in a 100 MB line must not print 100 MB."""


class Source:
    """A named text. Line starts are computed on first use only."""

    __slots__ = ("_starts", "name", "text")

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self._starts: list[int] | None = None

    def position(self, offset: int) -> tuple[int, int]:
        """1-based line and column of a character offset."""
        starts = self._starts
        if starts is None:
            starts = [0]
            find = self.text.find
            newline = find("\n")
            while newline >= 0:
                starts.append(newline + 1)
                newline = find("\n", newline + 1)
            self._starts = starts
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def __repr__(self) -> str:
        return f"Source({self.name!r}, {len(self.text)} characters)"


class Span:
    """Characters `start` to `end` (exclusive) of a source. `name` is that of the parameter declared there, where a value has
    taken the parameter's place: what is made from the value can be called after it. `node` is what the place is called in a model
    without lines."""

    __slots__ = ("end", "name", "node", "source", "start")

    def __init__(self, source: Source, start: int, end: int, name: str = "", node: str = "") -> None:
        self.name = name
        self.node = node
        self.source = source
        self.start = start
        self.end = end

    @property
    def line(self) -> int:
        """1-based line of the first character."""
        return self.source.position(self.start)[0]

    @property
    def column(self) -> int:
        """1-based column of the first character."""
        return self.source.position(self.start)[1]

    @property
    def location(self) -> str:
        """`name:line:column`."""
        line, column = self.source.position(self.start)
        return f"{self.source.name}:{line}:{column}"

    def __repr__(self) -> str:
        return f"Span({self.location})"


class Code:
    """A kind of mistake. Its name stays the same, however the messages are worded, so programs go by it and not by them.

    A subclass is registered by `plugin.codes.code`. Its docstring is what `irtool explain` says: the first paragraph
    names the mistake, the others say how it comes about and what to do.

    Class attributes:
        name: `E` and four digits; the first two tell the room of irtool. `W` for what only warnings have.
        example: a text that has the mistake.
        command: the words of an irtool command that shows it; `%s` stands for the file with the example.
        plugin: a Python file that the command loads as `%p`.
        may_warn: True for a code of errors that also warnings have.
    """

    name: ClassVar[str] = ""
    example: ClassVar[str] = ""
    command: ClassVar[str] = "check %s"
    plugin: ClassVar[str] = ""
    may_warn: ClassVar[bool] = False


@dataclass(frozen=True)
class Diagnostic:
    """One message. `level` is `error`, `warning` or `note`; `notes` and `help` are printed below the source line.

    `code` is the kind of mistake, None where it has no name of its own; `subject` the name of the operator that the message is
    about, for those who look for its calls. `lengths` are pairs of extents, equal for some lengths of a run, that were compared before.
    """

    message: str
    span: Span | None = None
    level: str = "error"
    notes: tuple[str, ...] = ()
    help: str = ""
    filename: str = ""
    code: type[Code] | None = None
    subject: str = ""
    lengths: tuple[tuple[int, int], ...] = ()

    @property
    def location(self) -> str:
        """`file:line:col`, or as much of it as is known."""
        return self.span.location if self.span is not None else self.filename

    def __str__(self) -> str:
        where = self.location
        code = f"[{self.code.name}]" if self.code is not None else ""
        return f"{where + ': ' if where else ''}{self.level}{code}: {self.message}"


class IrError(Exception):
    """The input was rejected: exit code 1. Carries every diagnostic that was found.

    `code` is the code of those that have none of their own.
    """

    exit_code = 1
    code: ClassVar[type[Code] | None] = None

    def __init__(self, diagnostics: Diagnostic | str | Iterable[Diagnostic], span: Span | None = None, **extra) -> None:
        if isinstance(diagnostics, str):
            diagnostics = Diagnostic(diagnostics, span, **extra)
        if isinstance(diagnostics, Diagnostic):
            diagnostics = (diagnostics,)
        self.diagnostics: tuple[Diagnostic, ...] = tuple(diagnostics)
        code = extra.get("code", self.code)
        if code is not None:
            self.classify(code)
        super().__init__("\n".join(map(str, self.diagnostics)))

    def classify(self, code: type[Code]) -> Self:
        """The same error, in which the diagnostics without a code have this one."""
        self.diagnostics = tuple(d if d.code is not None else replace(d, code=code) for d in self.diagnostics)
        self.args = ("\n".join(map(str, self.diagnostics)),)
        return self

    def place(self, span: Span | None) -> None:
        """Gives the diagnostics that have no place this one."""
        if span is not None and any(not d.location for d in self.diagnostics):
            self.diagnostics = tuple(d if d.location else replace(d, span=span) for d in self.diagnostics)
            self.args = ("\n".join(map(str, self.diagnostics)),)


@contextmanager
def placing(span: Span | None) -> Iterator[None]:
    """Gives errors about the input that leave the block without a place this one; those about options are left alone."""
    try:
        yield
    except UsageError:
        raise
    except IrError as error:
        error.place(span)
        raise


class UsageError(IrError):
    """The command was used wrongly (unknown pass, bad option): exit code 2."""

    exit_code = 2


class InternalError(IrError):
    """A bug in irtool itself (a pass broke the module): exit code 3. `reproducer` is the file that shows it, if there is one."""

    exit_code = 3
    reproducer: str = ""


class ToolError(IrError):
    """A program outside irtool failed (the C compiler, a built executable): exit code 4."""

    exit_code = 4


class ConversionWarning(UserWarning):
    """A value had another dtype than its parameter, and was converted without loss; commands say so in a note."""


@dataclass
class Diagnostics:
    """Collects the diagnostics of a stage; `check()` raises once if any of them is an error."""

    items: list[Diagnostic] = field(default_factory=list)

    def error(self, message: str, span: Span | None = None, **extra) -> None:
        self.items.append(Diagnostic(message, span, "error", **extra))

    def warn(self, message: str, span: Span | None = None, **extra) -> None:
        self.items.append(Diagnostic(message, span, "warning", **extra))

    @property
    def errors(self) -> list[Diagnostic]:
        return [d for d in self.items if d.level == "error"]

    def check(self) -> None:
        if any(d.level == "error" for d in self.items):
            raise IrError(self.items)


def render(diagnostics: Sequence[Diagnostic] | IrError) -> str:
    """The text shown to a person: message, source line, caret, notes, help."""
    if isinstance(diagnostics, IrError):
        diagnostics = diagnostics.diagnostics
    return "\n".join(_render_one(d) for d in diagnostics)


def _render_one(d: Diagnostic) -> str:
    lines = [str(d)]
    if d.span is not None:
        lines += _excerpt(d.span)
    lines += [f"note: {n}" for n in d.notes]
    if d.help:
        lines.append(f"help: {d.help}")
    return "\n".join(lines)


_REPLACEMENT = "\ufffd"
"""What stands for a character that cannot be printed. As a named escape it would load `unicodedata` to be compiled."""


def _excerpt(span: Span) -> list[str]:
    text, start = span.source.text, min(span.start, len(span.source.text))
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", start)
    last = len(text) if last < 0 else last
    end = min(max(span.end, start + 1), max(last, start + 1))
    left = max(first, start - _WIDEST // 2)
    right = min(last, left + _WIDEST)
    shown = "".join(c if c.isprintable() or c == "\t" else _REPLACEMENT for c in text[left:right])
    pad = "".join("\t" if c == "\t" else " " for c in text[left:start])
    return ["  " + shown, "  " + pad + "^" * max(1, min(end, right) - start)]
