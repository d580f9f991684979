"""Lines of commands that work, taken apart: which word is the value of which parameter, so that a fault can take its place."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

import click

from irtool.commands import param_types
from tests.commands.invocations import LINES
from tests.commands.options import commands, words_of


@dataclass(frozen=True)
class Place:
    """A word of a line that is the value of a parameter."""

    name: str
    parameter: click.Parameter
    words: tuple[str, ...]
    at: int

    def __str__(self) -> str:
        return f"{self.name} {self.parameter.opts[0]}"

    def with_value(self, value: str) -> list[str]:
        """The words of the line with another value; of `NAME=FILE`, another file."""
        old = self.words[self.at]
        named = isinstance(self.parameter.type, param_types.Path) and self.parameter.type.is_named
        new = f"{old.partition('=')[0]}={value}" if named else value
        return [*self.words[: self.at], new, *self.words[self.at + 1 :]]


def places(line: str) -> Iterator[Place]:
    """The values in a line of a command, in order."""
    name, before, _ = words_of(line)
    command = commands()[name]
    known = {o: p for p in command.params if isinstance(p, click.Option) for o in (*p.opts, *p.secondary_opts)}
    arguments = [p for p in command.params if isinstance(p, click.Argument)]
    words = tuple(shlex.split(line))
    word = len(before) + 1
    while word < len(words):
        option = known.get(words[word].partition("=")[0])
        if option is not None:
            takes = not option.is_flag and not isinstance(option.flag_value, str | int) and "=" not in words[word]
            if takes:
                yield Place(name, option, words, word + 1)
            word += 1 + takes
            continue
        if arguments:
            parameter = arguments[0]
            if parameter.nargs == 1:
                arguments.pop(0)
            yield Place(name, parameter, words, word)
        word += 1


def each_place() -> list[Place]:
    """One for each parameter of each command, in a line that succeeds; where there is none, one that fails."""
    by_parameter: dict[tuple[str, str | None], Place] = {}
    for exit_code in (0, 1, 2):
        for line, code, _ in LINES:
            if code == exit_code and words_of(line)[0]:
                for place in places(line):
                    by_parameter.setdefault((place.name, place.parameter.name), place)
    return sorted(by_parameter.values(), key=str)


def each_command() -> dict[str, list[str]]:
    """The words of a line of each command that succeeds."""
    by_command: dict[str, list[str]] = {}
    for line, code, _ in LINES:
        if code == 0 and (name := words_of(line)[0]):
            by_command.setdefault(name, shlex.split(line))
    return by_command
