"""Verbosity of commands: `-v`, `-q`, `-W` and `--color`, which commands have without declaring them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import click

from . import param_types
from .colour import WHEN, choose
from .warning_flags import remember_flags

_VERBOSE, _QUIET = "irtool.verbose", "irtool.quiet"


def common_options(params: Sequence[click.Parameter]) -> Iterator[click.Parameter]:
    """The options that a command with these parameters gets beside them.

    `--color` is everyone's. `-v` and `-q` are those of commands about files, unless they have their own; `-W` is that of commands
    that read modules with what is known of their parameters.
    """
    names = {name for p in params for name in p.opts}
    if any(isinstance(p, click.Argument) and isinstance(p.type, param_types.Path) for p in params):
        if "-v" not in names:
            yield click.Option(
                ["-v", "--verbose"],
                is_flag=True,
                expose_value=False,
                callback=_remembered(_VERBOSE),
                help="Also report the files that are read and written, and the time, on standard error.",
            )
        if "-q" not in names:
            yield click.Option(
                ["-q", "--quiet"],
                is_flag=True,
                expose_value=False,
                callback=_remembered(_QUIET),
                help="Print the result, notes and errors only.",
            )
    if "--shape" in names:
        yield click.Option(
            ["-W", "warnings"],
            metavar="FLAG",
            multiple=True,
            expose_value=False,
            callback=remember_flags,
            help="-Werror: warnings are errors; -Werror=CODE: those of this code; -Wno-error=CODE: but for them; -Wno-CODE: "
            "do not print them. Repeatable.",
        )
    yield click.Option(
        ["--color"],
        type=click.Choice(WHEN),
        default=None,
        is_eager=True,
        expose_value=False,
        callback=_colour,
        help="As irtool --color.",
    )


def is_quiet() -> bool:
    """True if the command that runs has been asked to print nothing but its result."""
    ctx = click.get_current_context(silent=True)
    return ctx is not None and bool(ctx.meta.get(_QUIET) or ctx.params.get("quiet"))


def is_verbose() -> bool:
    """True if the command that runs has been asked, by the common `-v`, to tell more."""
    ctx = click.get_current_context(silent=True)
    return ctx is not None and bool(ctx.meta.get(_VERBOSE))


def _remembered(key: str) -> Callable[[click.Context, click.Parameter, bool], None]:
    def remember(ctx: click.Context, option: click.Parameter, value: bool) -> None:
        ctx.meta[key] = value

    return remember


def _colour(ctx: click.Context, option: click.Parameter, when: str | None) -> None:
    if when is not None:
        choose_colour(ctx, when)


def choose_colour(ctx: click.Context, when: str) -> None:
    """Sets the colouring of a command's output: `auto`, `always` or `never`."""
    choose(when)
    ctx.color = {"always": True, "never": False}.get(when)  # else echoed text loses its escapes in pipes
