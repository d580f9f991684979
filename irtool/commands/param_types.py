"""Kinds of arguments: their completions in a shell, and marks of those that name files to read or write.

Values stay the strings that they are. A reproducer asks `reads` and `writes` of each option.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, ClassVar

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_DEFINITION = re.compile(r"^\s*(?:def|extern\s+def)\s+@([\w.]+)", re.MULTILINE)
_LARGEST = 1 << 26
"""Bytes of a file in which functions are looked for while somebody waits for a completion."""


class Path(click.ParamType):
    """A file or a folder. `reads` or `writes` is true if the command does so."""

    name = "path"

    def __init__(
        self,
        reads: bool = False,
        writes: bool = False,
        is_folder: bool = False,
        is_named: bool = False,
        is_always_written: bool = False,
    ) -> None:
        self.reads = reads
        self.writes = writes
        self.is_folder = is_folder
        self.is_named = is_named
        """Written NAME=FILE."""
        self.is_always_written = is_always_written
        """Where the command line names none, the command writes to a place that it chooses."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        typed = incomplete.partition("=")[2] if self.is_named else incomplete
        return [CompletionItem(typed, type="dir" if self.is_folder else "file")]


MODULE = Path(reads=True)
"""Relay text."""
READ = Path(reads=True)
"""Another file that is read."""
NAMED = Path(reads=True, is_named=True)
"""`NAME=FILE`, which is read."""
WRITTEN = Path(writes=True)
"""A file that is written."""
FOLDER = Path(writes=True, is_folder=True)
"""A folder that is written to."""
BUILD = Path(writes=True, is_folder=True, is_always_written=True)
"""The folder of a build."""


class NameList(click.ParamType):
    """One of some names, or several with commas between them; `known` lists them, with a word on each or none."""

    name = "name"
    reads: ClassVar[bool] = False
    writes: ClassVar[bool] = False

    def __init__(
        self,
        known: Callable[[click.Context], Iterable[tuple[str, str]]],
        are_many: bool = False,
        ending: str = "",
    ) -> None:
        self.known = known
        self.are_many = are_many
        self.ending = ending
        """What is written behind each name."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        before, comma, typed = incomplete.rpartition(",") if self.are_many else ("", "", incomplete)
        matches = [(name, meaning) for name, meaning in self.known(ctx) if name.lower().startswith(typed.lower())]
        return [
            CompletionItem(f"{before}{comma}{name}{self.ending}", help=meaning or None) for name, meaning in matches
        ]


def _passes(ctx: click.Context) -> Iterator[tuple[str, str]]:
    from ..plugin.listing import listed

    yield from listed("pass").items()
    yield from ((f"{name}<O3>", meaning) for name, meaning in listed("pipeline").items())


def _pass_names(ctx: click.Context) -> Iterator[tuple[str, str]]:
    return ((name, meaning) for name, meaning in _passes(ctx) if "<" not in name)


def _manuals(ctx: click.Context) -> Iterator[tuple[str, str]]:
    from ..plugin.listing import listed

    for kind in ("pass", "pipeline", "instrument"):
        yield from listed(kind).items()


def _instruments(ctx: click.Context) -> Iterator[tuple[str, str]]:
    from ..plugin.listing import listed

    yield from listed("instrument").items()


def _operators(ctx: click.Context) -> Iterator[tuple[str, str]]:
    from ..plugin.listing import listed

    yield from listed("operator").items()


def _codes(ctx: click.Context) -> Iterator[tuple[str, str]]:
    from ..plugin.codes import codes
    from .code_manual import title

    return ((cls.name, title(cls)) for cls in codes)


def _options(ctx: click.Context) -> Iterator[tuple[str, str]]:
    from ..plugin.listing import from_outside, listed

    meanings = {key: option.meaning for _, cls in from_outside("pass") for key, option in cls.config.items()}
    yield from sorted({**meanings, **listed("option")}.items())


def _targets(ctx: click.Context) -> Iterator[tuple[str, str]]:
    from ..ir.target_tags import TAGS
    from ..ir.tvm_target_kinds import KINDS

    return ((name, "") for name in (*KINDS, *TAGS))


def _backends(ctx: click.Context) -> Iterator[tuple[str, str]]:
    from ..backends.base import backends

    return ((name, backends.get(name).summary()) for name in backends.names())


def _boards(ctx: click.Context) -> Iterator[tuple[str, str]]:
    from ..boards.listing import board_names, find_board

    return ((name, find_board(name).about) for name in board_names())


def _formats(ctx: click.Context) -> Iterator[tuple[str, str]]:
    from ..plugin.listing import listed

    return iter(listed("export").items())


def _outputs(ctx: click.Context) -> Iterator[tuple[str, str]]:
    from ..backends.base import backends
    from ..driver.options import outputs_of

    return ((name, "") for name in dict.fromkeys(e for cls in backends for e in outputs_of(cls)))


def _ways(ctx: click.Context) -> Iterator[tuple[str, str]]:
    yield "interp", "the interpreter"
    yield from _backends(ctx)


def _functions(ctx: click.Context) -> Iterator[tuple[str, str]]:
    """The functions of the files that stand on the command line, before the cursor or behind it."""
    typed = [v for v in ctx.params.values() if isinstance(v, str)]
    tokens = [*typed, *re.split(r"\s+", os.environ.get("COMP_WORDS", ""))]
    for path in dict.fromkeys(w for w in tokens if w and os.path.isfile(w)):
        if os.path.getsize(path) <= _LARGEST:
            with open(path, encoding="utf-8", errors="replace") as source:
                text = source.read()
            if not text.startswith("PK") and "\0" not in text:
                yield from ((name, "") for name in dict.fromkeys(_DEFINITION.findall(text)))


PIPELINE = NameList(_passes, are_many=True)
PASS = NameList(_pass_names)
PASSES = NameList(_pass_names, are_many=True)
MANUAL = NameList(_manuals)
INSTRUMENT = NameList(_instruments)
CODE = NameList(_codes)
OPERATOR = NameList(_operators)
OPTION = NameList(_options, ending="=")
TARGET = NameList(_targets)
BACKEND = NameList(_backends)
BOARD = NameList(_boards)
FORMAT = NameList(_formats)
OUTPUT = NameList(_outputs)
WAY = NameList(_ways)
WAYS = NameList(_ways, are_many=True)
FUNCTION = NameList(_functions)

__all__ = [
    "BACKEND", "BOARD", "BUILD", "FOLDER", "FORMAT", "FUNCTION", "INSTRUMENT", "MANUAL", "MODULE", "NAMED", "OPERATOR", "OPTION", "OUTPUT", "PASS", "PASSES",
    "PIPELINE", "READ", "TARGET", "WAY", "WAYS", "WRITTEN", "NameList", "Path",
]  # fmt: skip
