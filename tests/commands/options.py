"""The commands by name, and the words of a command line."""

from __future__ import annotations

import functools
import shlex

import click

from irtool.commands.shell import group


@functools.cache
def commands() -> dict[str, click.Command]:
    """All of them by name, and irtool itself as the empty name."""
    ctx = click.Context(group)
    by_name = {name: group.get_command(ctx, name) for name in group.list_commands(ctx)}
    return {"": group, **{name: command for name, command in by_name.items() if command is not None}}


def words_of(line: str) -> tuple[str, list[str], list[str]]:
    """The command of a line, the options before it and those behind."""
    words_of_line = shlex.split(line)
    place = next((n for n, w in enumerate(words_of_line) if w and w in commands()), len(words_of_line))
    name = words_of_line[place] if place < len(words_of_line) else ""
    return name, words_of_line[:place], words_of_line[place + 1 :]
