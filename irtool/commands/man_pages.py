"""Manual pages of the commands, from the texts of `irtool COMMAND --help`: `python -m irtool.commands.man_pages [FOLDER]` writes build/man.

`irtool.1` has the options of irtool itself and the list of commands; `irtool-COMMAND.1` is that of a command.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from .. import __version__
from .shell import group

_EXIT_CODES = (
    ("0", "ok"),
    ("1", "input rejected, or a check or comparison failed"),
    ("2", "wrong usage"),
    ("3", "a bug in irtool"),
    ("4", "an outside tool failed"),
)


def pages() -> dict[str, str]:
    """The pages by the names of their files."""
    root = click.Context(group, info_name="irtool", **group.context_settings)
    commands = {name: c for name in group.list_commands(root) if (c := group.get_command(root, name)) is not None}
    listed = [line for name, c in commands.items() for line in _item(f"irtool-{name}(1)", c.get_short_help_str(200))]
    result = {"irtool.1": _page(group, "irtool", root, [".SH COMMANDS", *listed])}
    for name, command in commands.items():
        context = click.Context(command, parent=root, info_name=name, **command.context_settings)
        result[f"irtool-{name}.1"] = _page(command, f"irtool-{name}", context, [])
    return result


def _page(command: click.Command, name: str, context: click.Context, more: list[str]) -> str:
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    options = [p for p in command.params if isinstance(p, click.Option)]
    records = [r for p in options if (r := p.get_help_record(context)) is not None]
    records.append((", ".join(context.help_option_names), "Show this message and exit."))
    lines = [
        f'.TH "{name.upper()}" "1" "" "irtool {__version__}" "irtool"',
        ".SH NAME",
        f"{_text(name)} \\- {_text(_summary(command))}",
        ".SH SYNOPSIS",
        _text(usage),
        ".SH DESCRIPTION",
        *_paragraphs(command.help or ""),
        *more,
        ".SH OPTIONS",
        *(line for names, text in records for line in _item(names, " ".join(text.split()))),
        ".SH EXIT STATUS",
        *(line for code, text in _EXIT_CODES for line in _item(code, text)),
    ]
    return "\n".join([*lines, *([".SH SEE ALSO", "irtool(1)"] if name != "irtool" else []), ""])


def _summary(command: click.Command) -> str:
    """The first sentence of a help, on one line, without the stop."""
    text = " ".join((command.short_help or command.help or "").split("\n\n")[0].split())
    return text.rstrip(".")


def _paragraphs(help: str) -> Iterator[str]:
    """The paragraphs of a help text; those that click must not wrap are set as they are."""
    for paragraph in inspect.cleandoc(help).partition("\f")[0].split("\n\n"):
        lines = paragraph.splitlines()
        if lines and lines[0].strip() == "\b":
            yield from (".PP", ".nf", *map(_text, lines[1:]), ".fi")
        else:
            yield from (".PP", *map(_text, lines))


def _item(head: str, text: str) -> tuple[str, str, str]:
    return ".TP", f"\\fB{_text(head)}\\fR", _text(text)


def _text(line: str) -> str:
    """A line as roff reads it: hyphens are those of options, and no line begins a request."""
    escaped = line.replace("\\", "\\e").replace("-", "\\-").replace("`", "\\(ga").replace("'", "\\(aq")
    return re.sub(r"^(?=[.])", r"\\&", escaped)


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/man")
    folder.mkdir(parents=True, exist_ok=True)
    for file, content in pages().items():
        (folder / file).write_text(content, encoding="utf-8")
