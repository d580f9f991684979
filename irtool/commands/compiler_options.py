"""The options about the C compiler that several commands share."""

from __future__ import annotations

import click

cflags_option = click.option(
    "--cflags", default="", metavar="FLAGS", help="Additional flags for the C compiler, after $CFLAGS."
)

__all__ = ["cflags_option"]
