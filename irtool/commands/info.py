"""`irtool info`: what is in a module, in numbers."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import click

from . import kinds
from .known_types import Given, shape_options
from .mistakes import ClashingOptions
from .pass_options import loads_files
from .tables import drawer
from .wrong_usage import Command, WrongUsage


@click.command(name="info", cls=Command, short_help="Print functions, operator counts and storage plans of modules.")
@click.argument("files", type=kinds.MODULE, nargs=-1, required=True)
@click.option(
    "--storage",
    is_flag=True,
    help="Print storage plans instead: ids, devices, reference counts, and bytes per function and target.",
)
@click.option(
    "--target",
    type=kinds.TARGET,
    metavar="TARGET",
    default=None,
    help="With --storage: the target of functions without one of their own. Default: c.",
)
@click.option(
    "--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output format."
)
@click.option("--json", "style", flag_value="json", help="The same as --format=json.")
@shape_options
@loads_files
def command(files: tuple[str, ...], storage: bool, target: str | None, style: str, given: Given) -> None:
    """Print the functions of each file (`-`: standard input) with their types, and the number of calls of each operator.

    With --storage, print TVM's storage plan of each function: for each value, the storage id, the size in bytes, the
    device and the number of reads. The module is not transformed. Fuse a network first to see an executor's plan:

    \b
    irtool opt -O3 net.relay | irtool info --storage -
    irtool opt -p PlanDevices,FuseOps --target=cuda net.relay | irtool info --storage --json -
    """
    if target is not None and not storage:
        raise WrongUsage("--target goes with --storage", ClashingOptions)
    found = {file: _record(file, storage, target, given) for file in dict.fromkeys(files)}
    if style == "json":
        import json

        click.echo(json.dumps([{"file": file, **record} for file, record in found.items()], indent=1))
        return
    for n, (file, record) in enumerate(found.items()):
        if len(found) > 1:
            click.echo(f"{chr(10) if n else ''}{file}:")
        click.echo("\n".join(_lines(record, storage)))


def _lines(record: Mapping[str, Any], storage: bool) -> Iterator[str]:
    if not storage:
        return _list_functions(record)
    from .storage_listing import list_storage

    return list_storage(record)


def _record(file: str, storage: bool, target: str | None, given: Given) -> dict[str, Any]:
    from ..infer import infer_types
    from ..ir import Function
    from .subject import read_whole

    if storage:
        from ..ir.target import Target
        from ..lower.storage_record import storage_record

        wanted = None if target is None else Target.parse(target)  # a wrong one is said before anything is read
        return storage_record(infer_types(read_whole(file, given)), wanted)
    module = infer_types(read_whole(file, given))
    return {
        "functions": {
            n: _describe(f) if isinstance(f, Function) else {"lowered": True} for n, f in module.functions.items()
        }
    }


def _describe(f: Any) -> dict[str, Any]:
    from ..ir import Call, Constant, MissingData, Op, post_order
    from ..ir.tensor_names import input_names, output_names

    nodes = post_order(f)
    calls = Counter(e.op.name for e in nodes if isinstance(e, Call) and isinstance(e.op, Op))
    constants = [e for e in nodes if isinstance(e, Constant)]
    names, called = output_names(f), input_names(f)
    inputs = {p.name: repr(p.checked_type) for p in f.params}
    signature: dict[str, Any] = {"inputs": inputs, "outputs": list(names)} if names else {}
    if others := {p.name: n for p, n in called.items() if n != p.name}:
        signature["input_names"] = others
    return {
        "type": repr(f.checked_type),
        **signature,
        "nodes": len(nodes),
        "constants": len(constants),
        "constant_bytes": sum(c.data.nbytes for c in constants if not isinstance(c.data, MissingData)),
        "operators": dict(sorted(calls.items(), key=lambda item: (-item[1], item[0]))),
    }


def _list_functions(record: Mapping[str, Any]) -> Iterator[str]:
    for name, f in record["functions"].items():
        if "lowered" in f:
            yield f"@{name}: lowered"
            continue
        operators = f["operators"]
        yield f"@{name}: {f['type']}"
        if "inputs" in f:
            called = {n: f" ({own})" for n, own in f.get("input_names", {}).items()}
            inputs = (f"%{name}{called.get(name, '')}: {t}" for name, t in f["inputs"].items())
            yield f"  inputs: {', '.join(inputs) or 'none'}"
            yield f"  outputs: {', '.join(f['outputs'])}"
        total = sum(operators.values())
        yield f"  {f['nodes']} nodes, {total} operators, {f['constants']} constants ({f['constant_bytes']} bytes)"
        rows = [(f"{count:6d}", op) for op, count in operators.items()]
        draw = drawer(sys.stdout)
        if draw is not None and rows:
            yield draw([(f"{'calls':>6s}", "operator"), *rows])
        else:
            yield from (f"  {count}  {op}" for count, op in rows)
