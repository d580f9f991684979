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
    found = {name: group.get_command(ctx, name) for name in group.list_commands(ctx)}
    return {"": group, **{name: command for name, command in found.items() if command is not None}}


def words_of(line: str) -> tuple[str, list[str], list[str]]:
    """The command of a line, the options before it and those behind."""
    words = shlex.split(line)
    place = next((n for n, w in enumerate(words) if w and w in commands()), len(words))
    name = words[place] if place < len(words) else ""
    return name, words[:place], words[place + 1 :]
