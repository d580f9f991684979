"""`irtool info`: what is in a module, in numbers."""

from __future__ import annotations

from collections import Counter

import click

from . import kinds
from .pass_options import loads_files


@click.command(name="info", short_help="Count what is in a module.")
@click.argument("file", type=kinds.MODULE)
@loads_files
def command(file: str) -> None:
    """Print the functions of a module with their types, and how often each operator is called."""
    from ..infer import infer_types
    from ..ir import Call, Constant, Function, MissingData, Op, post_order
    from .source import read_module

    module = infer_types(read_module(file))
    for name, f in module.functions.items():
        if not isinstance(f, Function):
            click.echo(f"@{name}: lowered")
            continue
        nodes = post_order(f)
        calls = Counter(e.op.name for e in nodes if isinstance(e, Call) and isinstance(e.op, Op))
        constants = [e for e in nodes if isinstance(e, Constant)]
        size = sum(c.data.nbytes for c in constants if not isinstance(c.data, MissingData))
        click.echo(f"@{name}: {f.checked_type!r}")
        click.echo(f"  {len(nodes)} nodes, {sum(calls.values())} operators, {len(constants)} constants ({size} bytes)")
        for op, count in sorted(calls.items(), key=lambda item: (-item[1], item[0])):
            click.echo(f"  {count:6d}  {op}")
