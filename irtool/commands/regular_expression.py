"""Options whose value is a regular expression."""

from __future__ import annotations

import re

import click


def pattern(ctx: click.Context, option: click.Parameter, value: str | None) -> re.Pattern[str] | None:
    """A callback: the compiled value of an option, in which `^` and `$` match at lines. Raises click.BadParameter for a malformed one."""
    try:
        return None if value is None else re.compile(value, re.MULTILINE)
    except re.error as error:
        raise click.BadParameter(f"{value!r} is no regular expression: {error}", ctx, option) from None
