"""`irtool help`: the help of irtool or of one of its commands."""

from __future__ import annotations

import click


@click.command(name="help", short_help="Explain irtool, or one of its commands.")
@click.argument("name", metavar="[COMMAND]", required=False)
@click.pass_context
def command(ctx: click.Context, name: str | None) -> None:
    """Print what `irtool --help` prints, or `irtool COMMAND --help`."""
    from ..diagnostics import nearest
    from .shell import group

    above = ctx.parent or ctx
    if name is None:
        click.echo(group.get_help(above))
        return
    asked = group.get_command(above, name)
    if asked is None:
        hint = nearest(name, group.list_commands(above))
        raise click.UsageError(f"no such command: {name}{' — ' + hint if hint else ''}", above)
    click.echo(asked.get_help(click.Context(asked, parent=above, info_name=name, **asked.context_settings)))
