"""`irtool passes`: lists and explains passes, from the classes themselves."""

from __future__ import annotations

import click

from . import param_types
from .mistakes import ClashingOptions
from .pass_options import loads_files
from .wrong_usage import Command, WrongUsage


@click.command(name="passes", cls=Command, short_help="List the passes, or explain one.")
@click.argument("name", type=param_types.MANUAL, required=False)
@click.option("--tir", is_flag=True, help="List the passes on the loop nests of lowered functions.")
@click.option("--list-config", is_flag=True, help="List the options of the pass context: --pass-config.")
@click.option("--missing", is_flag=True, help="List the passes of TVM that are not here, and why.")
@click.option("--list-instruments", is_flag=True, help="List the instruments: --instrument.")
@loads_files
def command(name: str | None, tir: bool, missing: bool, list_config: bool, list_instruments: bool) -> None:
    """List the passes with their levels, or describe NAME: effect, options, prerequisites.

    NAME may also be an instrument, or `default`, the build pipeline. A part of a name, or a pattern with `*`, lists the passes whose
    names have it.

    \b
    Examples:
      irtool passes
      irtool passes FuseOps
      irtool passes 'Fuse*'
      irtool passes default
      irtool passes --list-config
    """
    from . import pass_manual

    if sum((name is not None, tir, missing, list_config, list_instruments)) > 1:
        raise WrongUsage(
            "NAME, --tir, --missing, --list-config and --list-instruments exclude each other", ClashingOptions
        )
    if tir:
        click.echo(pass_manual.list_tir_passes())
    elif missing:
        click.echo(pass_manual.list_missing())
    elif list_config:
        click.echo(pass_manual.list_config())
    elif list_instruments:
        click.echo(pass_manual.list_instruments())
    else:
        click.echo(pass_manual.explain_or_list(name) if name else pass_manual.list_passes())
