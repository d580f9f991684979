"""Ways of running: the interpreter, or a backend with flags."""

from __future__ import annotations

import click


def check_way(ctx: click.Context, option: click.Parameter, value: str) -> str:
    """`value` if it is `interp` or names a backend; raises BadParameter, or UsageError for a wrong flag."""
    if value != "interp":
        from ..diagnostics import UsageError
        from ..driver.options import choose_backend

        try:
            choose_backend(value, {})
        except UsageError as error:
            from ..backends.base import backends

            if value.partition("{")[0].strip() in backends:
                raise
            known = ", ".join(["interp", *backends.names()])
            raise click.BadParameter(f"{value!r} is not one of {known}", ctx, option) from error
    return value
