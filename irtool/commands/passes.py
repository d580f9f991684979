"""`irtool passes`: lists and explains passes, from the classes themselves."""

from __future__ import annotations

import click

from .pass_options import loads_files


@click.command(name="passes", short_help="List the passes, or explain one.")
@click.argument("name", required=False)
@loads_files
def command(name: str | None) -> None:
    """List the passes with their levels, or explain NAME: what it does, its options, what runs before it."""
    from .pass_manual import explain_pass, list_passes

    click.echo(explain_pass(name) if name else list_passes())
