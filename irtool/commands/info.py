"""`irtool info`: what is in a module, in numbers."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator

import click

from . import kinds
from .pass_options import loads_files
from .tables import drawer


@click.command(name="info", short_help="Print functions and operator counts of modules.")
@click.argument("files", type=kinds.MODULE, nargs=-1, required=True)
@loads_files
def command(files: tuple[str, ...]) -> None:
    """Print the functions of each of FILES (`-`: standard input) with their types, and how often each operator is called."""
    described = {file: list(_describe(file)) for file in dict.fromkeys(files)}
    for n, (file, lines) in enumerate(described.items()):
        if len(described) > 1:
            click.echo(f"{chr(10) if n else ''}{file}:")
        click.echo("\n".join(lines))


def _describe(file: str) -> Iterator[str]:
    from ..infer import infer_types
    from ..ir import Call, Constant, Function, MissingData, Op, post_order
    from .source import read_module

    module = infer_types(read_module(file))
    for name, f in module.functions.items():
        if not isinstance(f, Function):
            yield f"@{name}: lowered"
            continue
        nodes = post_order(f)
        calls = Counter(e.op.name for e in nodes if isinstance(e, Call) and isinstance(e.op, Op))
        constants = [e for e in nodes if isinstance(e, Constant)]
        size = sum(c.data.nbytes for c in constants if not isinstance(c.data, MissingData))
        yield f"@{name}: {f.checked_type!r}"
        yield f"  {len(nodes)} nodes, {sum(calls.values())} operators, {len(constants)} constants ({size} bytes)"
        rows = [(f"{count:6d}", op) for op, count in sorted(calls.items(), key=lambda item: (-item[1], item[0]))]
        draw = drawer(sys.stdout)
        if draw is not None and rows:
            yield draw([(f"{'calls':>6s}", "operator"), *rows])
        else:
            yield from (f"  {count}  {op}" for count, op in rows)
