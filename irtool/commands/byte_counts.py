"""Numbers of bytes on command lines."""

from __future__ import annotations

import click

from ..byte_sizes import read_size


def byte_count(ctx: click.Context, option: click.Parameter, value: str | None) -> int | None:
    """A number of bytes as people write it: `65536`, `64K`, `1.5G`. Raises BadParameter."""
    if value is None:
        return None
    nbytes = read_size(value)
    if nbytes is None:
        raise click.BadParameter(f"{value!r} is not a size; write for example 500000, 64M or 1.5G", ctx, option)
    return nbytes
