"""`irtool explain`: the meaning of a diagnostic's code, from the classes themselves."""

from __future__ import annotations

import click

from . import param_types
from .pass_options import loads_files
from .wrong_usage import Command


@click.command(name="explain", cls=Command, short_help="Explain an error code, or list the codes.")
@click.argument("code", type=param_types.CODE, required=False)
@loads_files
def command(code: str | None) -> None:
    """Explain CODE, the name in brackets after `error` or `warning`: its meaning, its usual causes, and an example.

    A code may also be given by its title, as in UnknownOperator. Without CODE, list all codes. Messages may change between
    versions; codes do not.

    \b
    Examples:
      irtool explain E0104
      irtool explain UnknownOperator
    """
    from .code_manual import explain_code, list_codes

    click.echo(explain_code(code) if code else list_codes())
