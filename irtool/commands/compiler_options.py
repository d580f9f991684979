"""The options about the C compiler that several commands share."""

from __future__ import annotations

import click

cflags_option = click.option(
    "--cflags", default="", metavar="FLAGS", help="Further flags for the C compiler, behind those of $CFLAGS."
)

__all__ = ["cflags_option"]
