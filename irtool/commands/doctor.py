"""`irtool doctor`: installed tools, and the features that each enables."""

from __future__ import annotations

import sys

import click

from .wrong_usage import Command


@click.command(
    name="doctor", cls=Command, short_help="Show compiler, processor, caches and extras, and the use of each."
)
@click.option(
    "--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output format."
)
@click.option("--json", "style", flag_value="json", help="The same as --format=json.")
def command(style: str) -> None:
    """List the tools that irtool uses here: Python, the C compiler and its options, the processor, caches, plug-ins, optional packages.

    \b
    Examples:
      irtool doctor
      CC=clang irtool doctor --json

    The report lists each part with its version and purpose, or that it is missing. The exit code is 1 if a part is
    missing without which programs cannot be built.
    """
    from .examination import examine

    findings = examine()
    if style == "json":
        import json

        click.echo(json.dumps([vars(f) for f in findings], indent=1))
    else:
        from .tables import show_table

        rows = [("state", "part", "what", "for")]
        rows += [(f.state, f.part, f.what, f.purpose) for f in findings]
        widths = [max(len(r[i]) for r in rows) for i in range(3)]
        click.echo(show_table(rows, widths, stream=sys.stdout))
        for f in findings:
            if f.help:
                click.echo(f"help: {f.part}: {f.help}")
    if any(f.state == "missing" and f.is_needed for f in findings):
        raise click.exceptions.Exit(1)
