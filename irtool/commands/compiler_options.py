"""The options about the build pipeline and the C compiler that several commands share."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any

import click

from . import param_types

level_option = click.option(
    "-O", "level", type=click.IntRange(0, 4), default=3, show_default=True, help="Level of the build pipeline."
)

missing_constants_option = click.option(
    "--missing-constants",
    type=click.Choice(["error", "zeros", "random", "param"]),
    default="error",
    show_default=True,
    help="Values for constants with missing metadata; `param` turns them into parameters.",
)

cc_option = click.option(
    "--cc", default=None, metavar="COMMAND", help="C compiler, such as aarch64-linux-gnu-gcc. Default: $CC, or cc."
)

cflags_option = click.option(
    "--cflags", default="", metavar="FLAGS", help="Additional flags for the C compiler, after $CFLAGS."
)

math_option = click.option(
    "--math",
    type=click.Choice(["fast", "strict"]),
    default=None,
    show_default="fast",
    help="Vectorized exp, tanh, erf … accurate to 4 ULP, or those of libm.",
)

opt_option = click.option(
    "--opt",
    type=click.Choice(["size", "balanced", "speed"]),
    default=None,
    show_default="balanced",
    help="Weights that are transformed for speed: stored plain and transformed when they are loaded, as far as memory stays near that of plain ones (balanced), not transformed (size), "
    "or all stored transformed (speed). On a device without an operating system, size also means code of the least size (-Os).",
)

openmp_option = click.option(
    "--openmp/--no-openmp", default=None, show_default="no", help="Compile with OpenMP threads."
)

board_option = click.option(
    "--board",
    type=param_types.BOARD,
    default=None,
    metavar="NAME|FILE.toml",
    help="Build for a board (`irtool boards` lists them), or for one that a file describes: its processor, its compiler, start-up code and "
    "linker script.",
)

time_limit_option = click.option(
    "--time-limit",
    type=click.FloatRange(0.001),
    default=None,
    show_default="none; on a board 120",
    metavar="SECONDS",
    help="End the program after this time.",
)

mcpu_option = click.option("--mcpu", default=None, show_default="native", metavar="CPU", help="Target processor.")


def runner_option(what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds `--runner`, which the command gets as a tuple of words; `what` names the programs that it runs, for the help."""
    return click.option(
        "--runner",
        default="",
        metavar="COMMAND",
        callback=_words,
        help=f"Runs {what}: an emulator, such as 'qemu-aarch64 -L /usr/aarch64-linux-gnu', or a script for a device.",
    )


def _words(ctx: click.Context, option: click.Parameter, value: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(value))
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is no command: {str(error).lower()}", ctx, option) from None


__all__ = [
    "board_option",
    "cc_option",
    "cflags_option",
    "level_option",
    "math_option",
    "mcpu_option",
    "missing_constants_option",
    "openmp_option",
    "opt_option",
    "runner_option",
    "time_limit_option",
]
