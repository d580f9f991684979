"""`irtool passes`: lists and explains passes, from the classes themselves."""

from __future__ import annotations

import click


@click.command(name="passes", short_help="List the passes, or explain one.")
@click.argument("name", required=False)
@click.option(
    "--load", multiple=True, metavar="FILE.py", help="Import a Python file that registers passes of your own."
)
def command(name: str | None, load: tuple[str, ...]) -> None:
    """List the passes with their levels, or explain NAME: what it does, its options, what runs before it."""
    from .own_passes import load_files
    from .pass_manual import explain_pass, list_passes

    load_files(load)
    click.echo(explain_pass(name) if name else list_passes())
