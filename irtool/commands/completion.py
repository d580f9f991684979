"""`irtool completion`: prints a script that completes irtool's arguments in a shell."""

from __future__ import annotations

import os

import click

from .completing import SHELLS, script
from .mistakes import MissingWord
from .wrong_usage import Command, WrongUsage


@click.command(name="completion", cls=Command, short_help="Print the completion script of a shell.")
@click.argument("shell", type=click.Choice(list(SHELLS)), required=False)
def command(shell: str | None) -> None:
    """Print the completion script of a shell (default: the one in $SHELL).

    It completes commands, options, passes, operators, instruments, files, and the functions of the module on the line.

    \b
    Examples:
      eval "$(irtool completion bash)"                                     in ~/.bashrc
      eval "$(irtool completion zsh)"                                      in ~/.zshrc, after compinit
      irtool completion fish > ~/.config/fish/completions/irtool.fish
    """
    from .shell import group

    shell = shell or os.path.basename(os.environ.get("SHELL", ""))
    if shell not in SHELLS:
        raise WrongUsage(f"name a shell: {', '.join(SHELLS)}", MissingWord)
    click.echo(script(group, shell), nl=False)
