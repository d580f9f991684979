"""`irtool ops`: lists and explains operators, from the classes themselves."""

from __future__ import annotations

import click

from .pass_options import loads_files


@click.command(name="ops", short_help="List the operators, or explain one.")
@click.argument("name", required=False)
@loads_files
def command(name: str | None) -> None:
    """List the operators, or explain NAME: arguments, attributes with defaults, type rule, pattern, what supports it."""
    from .op_manual import explain_operator, list_operators

    click.echo(explain_operator(name) if name else list_operators())
