"""The reference of the commands, `docs/commands.md`: the texts of `irtool COMMAND --help`, from the same declarations."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click

from .shell import group


def reference() -> str:
    """The text of `docs/commands.md`."""
    root = click.Context(group, info_name="irtool", **group.context_settings)
    names = group.list_commands(root)
    out = [
        "# Commands",
        "",
        "Generated from what `irtool COMMAND --help` says (`python -m irtool.commands.references`); a test keeps it fresh.",
        "Exit codes: 0 ok, 1 input rejected or a comparison failed, 2 wrong usage, 3 a bug in irtool, 4 an outside tool failed.",
        "From Python: [python-api.md](python-api.md).",
        "",
        "Options of irtool itself stand in front of the command's name:",
        "",
        *_options(group, root),
    ]
    for name in names:
        command = group.get_command(root, name)
        if command is not None:
            out += [f"## irtool {name}", "", *_section(command, name, root)]
    return "\n".join(out).rstrip() + "\n"


def _section(command: click.Command, name: str, above: click.Context) -> list[str]:
    ctx = click.Context(command, parent=above, info_name=name, **command.context_settings)
    usage = " ".join([ctx.command_path, *command.collect_usage_pieces(ctx)])
    return ["```", usage, "```", "", *_paragraphs(command.help or ""), *_options(command, ctx)]


def _paragraphs(help: str) -> Iterator[str]:
    """The paragraphs of a help text; those that click must not wrap are blocks of code."""
    for paragraph in inspect.cleandoc(help).partition("\f")[0].split("\n\n"):
        lines = paragraph.splitlines()
        if lines and lines[0].strip() == "\b":
            head = [lines[1], ""] if len(lines) > 1 and not lines[1].startswith(" ") and lines[1].endswith(":") else []
            yield from [
                *head,
                "```",
                *inspect.cleandoc("\n" + "\n".join(lines[2 if head else 1 :])).splitlines(),
                "```",
                "",
            ]
        else:
            yield from [*map(_escaped, lines), ""]


def _options(command: click.Command, ctx: click.Context) -> list[str]:
    records = [r for p in command.params if (r := p.get_help_record(ctx)) is not None]
    # click keeps the first option for help that it has made, with the names of whatever context asked for it.
    records.append((", ".join(ctx.help_option_names), "Show this message and exit."))
    rows = [f"| `{names.replace('|', ' or ')}` | {_escaped(' '.join(text.split()))} |" for names, text in records]
    return ["| option | meaning |", "| --- | --- |", *rows, ""]


def _escaped(text: str) -> str:
    """Escapes text that Markdown would read as markup, outside code."""
    parts = text.split("`")
    for i in range(0, len(parts), 2):
        for mark in "\\|<*_[":
            parts[i] = parts[i].replace(mark, "\\" + mark)
    return "`".join(p.replace("|", "\\|") if i % 2 else p for i, p in enumerate(parts))
