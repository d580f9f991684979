"""Command lines that click or irtool refuses, and the values of them that were refused."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import click

from ..diagnostics import Code
from .file_report import tell_files
from .mistakes import MissingWord
from .verbosity import common_options, is_verbose

_WORDS = "irtool.words"


class WrongUsage(click.UsageError):
    """A command line that a command refuses, with the code of the mistake; `hint` is a suggestion."""

    def __init__(self, message: str, code: type[Code], hint: str = "", ctx: click.Context | None = None) -> None:
        super().__init__(message, ctx)
        self.code = code
        self.hint = hint


class ExtraArguments(click.UsageError):
    """More arguments than the command takes."""

    def __init__(self, arguments: Sequence[str], ctx: click.Context) -> None:
        super().__init__(f"unexpected arguments: {' '.join(arguments)}", ctx)
        self.arguments = tuple(arguments)


class Command(click.Command):
    """A command that says which arguments are too many, and remembers the words that it was given.

    It has the options of `verbosity` beside its own.
    """

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.params += common_options(self.params)

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command; with the common `-v`, then lists the files that it has read and written."""
        if not is_verbose():
            return super().invoke(ctx)
        start = time.perf_counter()
        try:
            result = super().invoke(ctx)
        except click.exceptions.Exit:
            tell_files(ctx, time.perf_counter() - start)
            raise
        tell_files(ctx, time.perf_counter() - start)
        return result

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parses as click does, but for the arguments that are left over."""
        ctx.meta[_WORDS] = list(args)
        ctx.allow_extra_args = True
        if not ctx.resilient_parsing:
            _refuse_swallowed_options(self, args, ctx)
        try:
            rest = super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx  # the parser of words knows of no context
            raise
        if rest and not ctx.resilient_parsing:
            raise ExtraArguments(rest, ctx)
        return rest


def takes_value(option: click.Option | None) -> bool:
    """True if an option is no flag."""
    return option is not None and not option.is_flag and not option.count


def _refuse_swallowed_options(command: click.Command, args: Sequence[str], ctx: click.Context) -> None:
    """Refuses an option whose value would be the next option: `run -o --via=c` would write a file of that name."""
    options = {name: p for p in command.params if isinstance(p, click.Option) for name in (*p.opts, *p.secondary_opts)}
    end = args.index("--") if "--" in args else len(args)
    for word, following in pairwise(args[:end]):
        name = following.partition("=")[0]
        if takes_value(options.get(word)) and name.startswith("--") and name in options:
            joined = f"{word}={following}" if word.startswith("--") else f"{word}{following}"
            raise WrongUsage(
                f"{word} needs a value, but {name} is an option",
                MissingWord,
                f"if that is the value, write {joined}",
                ctx,
            )


def refused_value(error: click.BadParameter, command_line: Sequence[str]) -> str | None:
    """The value of a parameter whose type refuses it; None if its type does not.

    Args:
        words: those of the whole command line.
    """
    parameter, ctx = error.param, error.ctx
    if parameter is None or ctx is None:
        return None
    param_facts: list[str] = list(command_line if ctx.parent is None else ctx.meta.get(_WORDS, ()))
    parser = ctx.command.make_parser(ctx)
    parser.ignore_unknown_options = True
    values, _, _ = parser.parse_args(param_facts)
    refused = values.get(parameter.name or "")
    for value in refused if isinstance(refused, list | tuple) else [refused]:
        if isinstance(value, str):
            try:
                parameter.type.convert(value, parameter, ctx)
            except click.BadParameter:
                return value
    return None
