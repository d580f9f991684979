"""The options about the build pipeline and the C compiler that several commands share."""

from __future__ import annotations

import click

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

openmp_option = click.option(
    "--openmp/--no-openmp", default=None, show_default="no", help="Compile with OpenMP threads."
)

__all__ = [
    "cc_option",
    "cflags_option",
    "level_option",
    "math_option",
    "missing_constants_option",
    "openmp_option",
]
