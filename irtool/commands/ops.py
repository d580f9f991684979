"""`irtool ops`: lists and explains operators, from the classes themselves."""

from __future__ import annotations

import click

from . import param_types
from .mistakes import ClashingOptions
from .pass_options import loads_files
from .wrong_usage import Command, WrongUsage


@click.command(name="ops", cls=Command, short_help="List the operators, or explain one.")
@click.argument("name", type=param_types.OPERATOR, required=False)
@click.option(
    "--since",
    metavar="VERSION",
    help="List only operators introduced or extended by this version of TVM or later: 0.11 … 0.19.",
)
@click.option("--check", is_flag=True, help="Run the cases of NAME, or of all operators, in the interpreter and in C.")
@loads_files
def command(name: str | None, since: str | None, check: bool) -> None:
    """List the operators, or describe NAME: arguments, attributes with defaults, type rule, fusion pattern, support.

    A part of a name, or a pattern with `*`, lists the operators whose names have it.

    The operators are those of TVM 0.10 to 0.19, the last version with Relay. An operator missing from some of these
    versions is listed with the versions that have it.

    Cases are example calls with expected results, from the operator's class or its family's case file.

    \b
    Examples:
      irtool ops
      irtool ops nn.conv2d
      irtool ops nn.conv2d --check
      irtool ops conv
      irtool ops 'nn.*'
    """
    import re

    from ..ops.base import operators
    from ..plugin.index import indexed
    from .name_patterns import stands_for_several
    from .op_manual import explain_operator, list_operators

    if since is not None and not re.fullmatch(r"\d+\.\d+", since):
        raise click.BadParameter(f"{since} is not a version such as 0.12", param_hint="--since")
    if name and since:
        raise WrongUsage("--since selects from the list: it does not go with NAME", ClashingOptions)
    if check and since:
        raise WrongUsage("--since selects from the list: it does not go with --check", ClashingOptions)
    if check:
        from .case_check import check_cases

        check_cases(name)
        return
    is_own = name in indexed("operator")  # found without a look at plug-ins
    if name and not is_own and stands_for_several(name, {cls.name for cls in operators}):
        click.echo(list_operators(pattern=name))
        return
    click.echo(explain_operator(name) if name else list_operators(since))
