"""`irtool help`: the help of irtool or of one of its commands."""

from __future__ import annotations

import click

from .mistakes import UnknownCommand
from .wrong_usage import Command, WrongUsage


@click.command(name="help", cls=Command, short_help="Print the help of irtool, or of a command.")
@click.argument("name", metavar="[COMMAND]", required=False)
@click.pass_context
def command(ctx: click.Context, name: str | None) -> None:
    """Print the help of irtool, or of COMMAND: the same as `irtool --help` and `irtool COMMAND --help`.

    \b
    Examples:
      irtool help
      irtool help build
    """
    from ..diagnostics import nearest
    from .shell import group

    above = ctx.parent or ctx
    if name is None:
        click.echo(group.get_help(above))
        return
    asked = group.get_command(above, name)
    if asked is None:
        hint = nearest(name, group.list_commands(above))
        raise WrongUsage(f"no such command: {name}", UnknownCommand, hint, above)
    click.echo(asked.get_help(click.Context(asked, parent=above, info_name=name, **asked.context_settings)))
