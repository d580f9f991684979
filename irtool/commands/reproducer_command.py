"""Command lines that are to run elsewhere: their input files are copied along, their output goes to `%t`."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import click

from ..files import Draft
from .wrong_usage import takes_value

_LARGEST = 1 << 28
"""Bytes of a file that is brought along; larger ones are named by their full path."""


@dataclass(frozen=True)
class _Word:
    """A word of a command line. `parameter` is the option or argument that it is a value of, None for flags and names; `head` is the
    text before the value: `--name=`, `-n`."""

    text: str
    parameter: click.Parameter | None = None
    head: str = ""

    @property
    def value(self) -> str:
        return self.text[len(self.head) :]


@dataclass
class ReproducerCommand:
    """Rewrites command lines of `group` so that they run in `folder`.

    Attributes:
        folder: where the files go, and the command is to run.
        group: the commands.
        names: the new name of each input file.
    """

    folder: str
    group: click.Group
    names: dict[str, str] = field(default_factory=dict)

    def modules(self, arguments: Sequence[str]) -> tuple[list[str], bool]:
        """The Relay files that a command line names, and whether they are of equal standing (`check a b c`)."""
        inputs = [w for w in self._words(arguments) if isinstance(w.parameter, click.Argument) and _reads(w.parameter)]
        return [w.text for w in inputs], any(w.parameter is not None and w.parameter.nargs == -1 for w in inputs)

    def rewrite(self, arguments: Sequence[str], input_file: str) -> list[str]:
        """The words with `%s` for the file `input_file`, and with the other files where they are now."""
        out = []
        tokens = list(self._words(arguments))
        for word in tokens:
            parameter, value = word.parameter, word.value
            if input_file and value == input_file and isinstance(parameter, click.Argument):
                out.append("%s")
            elif parameter is None:
                out.append(_escaped(word.text))
            elif _reads(parameter):
                if not (isinstance(parameter, click.Argument) and parameter.nargs == -1 and input_file):
                    name, equals, path = value.rpartition("=") if parameter.type.is_named else ("", "", value)  # type: ignore[attr-defined]  # the type is that of files: only these are carried
                    out.append(_escaped(word.head + name + equals) + _escaped(self._bring(path)))
            elif getattr(parameter.type, "writes", False) and value != "-":
                out.append(_escaped(word.head) + "%t/" + _escaped(os.path.basename(value.rstrip("/")) or "out"))
            else:
                out.append(_escaped(word.text))
        if input_file == "-" and "%s" not in out:  # standard input is read though nobody said so
            out.append("%s")
        return [*out, *self._unsaid_outputs(tokens)]

    def bring_constants(self, path: str, text: str) -> None:
        """Brings the file along that holds the constants of a text, if they are not in it."""
        from ..printer.external import named_file

        constants_path = named_file(text)
        if constants_path:
            self._bring(os.path.join(os.path.dirname(path), constants_path), os.path.basename(constants_path))

    def _bring(self, path: str, name: str = "") -> str:
        """Copies a file to the folder; returns the name that it has there, or its full path where it cannot be copied."""
        full = os.path.abspath(path)
        if path == "-" or not os.path.isfile(full) or os.path.getsize(full) > _LARGEST:
            return path if path == "-" else full
        if full not in self.names:
            name = name or os.path.basename(full)
            if os.path.dirname(full) != self.folder:
                stem, suffix = os.path.splitext(name)
                number = 2
                while os.path.exists(os.path.join(self.folder, name)):
                    name = f"{stem}_{number}{suffix}"
                    number += 1
                with open(full, "rb") as source, Draft(os.path.join(self.folder, name), follow=False) as draft:
                    shutil.copyfileobj(source, draft.out)
            self.names[full] = name
            if full.endswith(".py"):
                self._bring_neighbours(os.path.dirname(full))
        return self.names[full]

    def _bring_neighbours(self, folder: str) -> None:
        """Brings the modules along that a plug-in has imported from its own folder."""
        for module in list(sys.modules.values()):
            file = getattr(module, "__file__", None)
            if file and file.endswith(".py") and os.path.dirname(os.path.abspath(file)) == folder:
                self._bring(file)

    def _unsaid_outputs(self, tokens: Sequence[_Word]) -> Iterator[str]:
        """Options for outputs that the command writes to a place of its own where none is named."""
        command = self._command([w.text for w in tokens if w.parameter is None])
        stated = {w.parameter for w in tokens}
        for option in command.params if command is not None else ():
            if getattr(option.type, "is_always_written", False) and option not in stated:
                yield from (option.opts[0], "%t/out")

    def _command(self, names: Sequence[str]) -> click.Command | None:
        group = self.group
        context = click.Context(group)
        return next((c for name in names if (c := group.get_command(context, name)) is not None), None)

    def _words(self, arguments: Sequence[str]) -> Iterator[_Word]:
        """The words of a command line, each with the parameter of irtool or of the command that it gives a value to."""
        waiting = list(reversed(arguments))
        group = self.group
        command: click.Command = group
        positions: list[click.Argument] = []
        only_names = False
        while waiting:
            word = waiting.pop()
            if word == "--" and not only_names:
                only_names = True
                yield _Word(word)
            elif word.startswith("-") and word != "-" and not only_names:
                yield from _option(command, word, waiting)
            elif command is group:
                command = group.get_command(click.Context(group), word) or group
                positions = [p for p in command.params if isinstance(p, click.Argument)]
                yield _Word(word)
            else:
                yield _Word(word, positions[0] if positions else None)
                if positions and positions[0].nargs != -1:
                    del positions[0]


def _option(command: click.Command, word: str, waiting: list[str]) -> Iterator[_Word]:
    """An option and its value, which may be the next of the words `waiting`."""
    options = {name: p for p in command.params if isinstance(p, click.Option) for name in p.opts}
    name, equals, _ = word.partition("=")
    if not word.startswith("--") and word not in options:  # -O3, -qo out
        letter = next((n for n in range(1, len(word)) if takes_value(options.get("-" + word[n]))), 0)
        if not letter:
            yield _Word(word)
        elif letter + 1 < len(word):
            yield _Word(word, options["-" + word[letter]], word[: letter + 1])
        else:
            yield _Word(word)
            if waiting:
                yield _Word(waiting.pop(), options["-" + word[letter]])
        return
    option = options.get(name)
    if not takes_value(option):
        yield _Word(word)
    elif equals:
        yield _Word(word, option, name + "=")
    else:
        yield _Word(word)
        if option is not None and not isinstance(option.flag_value, str | int) and waiting:
            yield _Word(waiting.pop(), option)


def _reads(parameter: click.Parameter) -> bool:
    return bool(getattr(parameter.type, "reads", False))


def _escaped(text: str) -> str:
    """As RUN lines want it."""
    return text.replace("%", "%%")
