"""`irtool diff`: compares two modules by structure, and shows where they differ."""

from __future__ import annotations

import difflib

import click

from . import kinds
from .pass_options import loads_files


@click.command(name="diff", short_help="Compare two modules by structure.")
@click.argument("left", type=kinds.MODULE)
@click.argument("right", type=kinds.MODULE)
@click.option(
    "--types",
    type=click.Choice(["none", "calls", "all"]),
    default="none",
    show_default=True,
    help="Which types take part in the text of the difference.",
)
@click.option("--infer/--no-infer", default=True, show_default=True, help="Infer types on both sides first.")
@loads_files
def command(left: str, right: str, types: str, infer: bool) -> None:
    """Compare two modules up to the names of bound variables. Exit code 1 and a diff of their texts if they differ."""
    from ..ir.structural import structural_equal
    from ..printer import to_text
    from .source import read_module

    a, b = read_module(left), read_module(right)
    if infer:
        from ..infer import infer_types

        a, b = infer_types(a), infer_types(b)
    if structural_equal(a, b):
        click.echo("equal")
        return
    texts = [to_text(m, types=types).splitlines() for m in (a, b)]
    if texts[0] == texts[1] and types != "all":
        texts = [to_text(m, types="all").splitlines() for m in (a, b)]
    lines = list(difflib.unified_diff(texts[0], texts[1], left, right, lineterm=""))
    click.echo(
        "\n".join(lines) if lines else f"{left} and {right} print alike, but differ in structure (sharing, or a value)"
    )
    raise click.exceptions.Exit(1)
