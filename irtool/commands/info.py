"""`irtool info`: the contents of a module, in numbers."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from ..symbolic_int import SymbolicInt, bound, symbols_of
from ..visible import visible
from . import param_types
from .compiler_options import board_option
from .mistakes import ClashingOptions
from .param_facts import ARRAYS, ParamFacts, type_options
from .pass_options import loads_files
from .tables import drawer
from .wrong_usage import Command, WrongUsage

if TYPE_CHECKING:
    from ..ir import Module


@click.command(name="info", cls=Command, short_help="Print functions, operator counts and storage plans of modules.")
@click.argument("files", type=param_types.MODULE, nargs=-1, required=True)
@click.option(
    "--storage",
    is_flag=True,
    help="Print storage plans instead: ids, devices, reference counts, and bytes per function and target.",
)
@click.option(
    "--cost",
    is_flag=True,
    help="Also lower @main to loops, and print its multiply-adds, its arena, and a table of its kernels.",
)
@click.option(
    "--memory", is_flag=True, help="The same, and draw which buffer of the arena is in use in which steps of a run."
)
@click.option(
    "--nodes",
    is_flag=True,
    help="Print the nodes of an ONNX model instead, one a line: messages, and comments of generated C, name these lines.",
)
@click.option(
    "--target",
    type=param_types.TARGET,
    metavar="TARGET",
    default=None,
    help="With --storage: the target of functions without one of their own. With --cost and --memory: the backend. Default: c.",
)
@board_option
@click.option(
    "--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output format."
)
@click.option("--json", "style", flag_value="json", help="The same as --format=json.")
@type_options(ARRAYS)
@loads_files
def command(
    files: tuple[str, ...],
    storage: bool,
    cost: bool,
    memory: bool,
    nodes: bool,
    target: str | None,
    board: str | None,
    style: str,
    param_facts: ParamFacts,
) -> None:
    """Print the functions of each file (`-`: standard input) with their types, their parameters and dynamic dimensions, and
    the number of calls of each operator.

    With --storage, print TVM's storage plan of each function: for each value, the storage id, the size in bytes, the
    device and the number of reads. The module is not transformed: fuse a network first to see an executor's plan.

    \b
    Examples:
      irtool info net.relay
      irtool info --memory --target='c{mcpu=none}' net.relay
      irtool info --memory --board=mps2-an386 net.tflite
      irtool info --nodes net.onnx
      irtool opt -O3 net.relay | irtool info --storage -
      irtool opt -p PlanDevices,FuseOps --target=cuda net.relay | irtool info --storage --json -
    """
    if storage and (cost or memory):
        raise WrongUsage("--storage prints TVM's plan, --cost and --memory irtool's own", ClashingOptions)
    if target is not None and not (storage or cost or memory):
        raise WrongUsage("--target goes with --storage, --cost and --memory", ClashingOptions)
    if board is not None and not memory:
        raise WrongUsage("--board goes with --memory", ClashingOptions)
    if nodes and (storage or cost or memory or target is not None):
        raise WrongUsage("--nodes prints the nodes of a model, and nothing else", ClashingOptions)
    records = {
        file: _nodes(file) if nodes else _record(file, storage, target, param_facts, cost or memory, board)
        for file in dict.fromkeys(files)
    }
    if style == "json":
        import json

        click.echo(json.dumps([{"file": file, **record} for file, record in records.items()], indent=1))
        return
    for n, (file, record) in enumerate(records.items()):
        if len(records) > 1:
            click.echo(f"{chr(10) if n else ''}{file}:")
        click.echo("\n".join(_lines(record, storage, memory)))


def _lines(record: Mapping[str, Any], storage: bool, memory: bool) -> Iterator[str]:
    if "nodes" in record:
        return _list_nodes(record["nodes"])
    if not storage:
        return _list_module(record, memory)
    from .storage_listing import list_storage

    return list_storage(record)


def _list_module(record: Mapping[str, Any], memory: bool) -> Iterator[str]:
    yield from _list_functions(record)
    if "cost" in record:
        from .cost import list_costs, list_footprint, list_memory

        yield f"@{record['cost']['entry']}, compiled:"
        yield from list_costs(record["cost"])
        if memory:
            yield from list_memory(record["cost"])
            yield from list_footprint(record["cost"])


def _nodes(file: str) -> dict[str, Any]:
    """The lines of the listing of a model. Raises UsageError for another file."""
    from ..diagnostics import UsageError
    from .input_module import read_input
    from .onnx_input import OnnxInput
    from .tflite_input import TfliteInput

    input_file = read_input(file)
    if not isinstance(input_file, OnnxInput | TfliteInput):
        raise UsageError(f"--nodes lists the nodes of models, and {file} has none", code=ClashingOptions)
    return {"nodes": input_file.load().listing.text.splitlines()}


def _list_nodes(lines: list[str]) -> Iterator[str]:
    """The lines with their numbers, which places such as `net.onnx:3:1` name."""
    width = len(str(len(lines)))
    for n, line in enumerate(lines, 1):
        yield f"{n:{width}}  {visible(line)}"


def _record(
    file: str, storage: bool, target: str | None, param_facts: ParamFacts, cost: bool, board: str | None
) -> dict[str, Any]:
    from ..infer import infer_types
    from ..ir import Function

    if storage:
        from ..ir.target import Target
        from ..lower.storage_record import storage_record

        parsed_target = None if target is None else Target.parse(target)  # a wrong one is said before anything is read
        return storage_record(infer_types(_read(file, param_facts)), parsed_target)
    whole = _read(file, param_facts)
    module = infer_types(whole)
    record: dict[str, Any] = {
        "functions": {
            n: _describe(f) if isinstance(f, Function) else {"lowered": True} for n, f in module.functions.items()
        }
    }
    if cost:
        from .cost import cost_record
        from .param_facts import entry_of

        entry = entry_of(module, None)
        record["cost"] = {"entry": entry, **cost_record(whole, target, entry, board)}
    return record


def _read(file: str, param_facts: ParamFacts) -> Module:
    """The module of a file with known facts of its parameters, weights as constants."""
    from .input_module import read_module

    module, param_facts = read_module(file, param_facts)
    return param_facts.apply(module, None)


def _describe(f: Any) -> dict[str, Any]:
    from ..driver.offered_states import offered_states
    from ..ir import Call, Constant, MissingData, Op, post_order
    from ..ir.tensor_names import input_dims, input_names, output_names, show_named

    nodes = post_order(f)
    calls = Counter(_operator(e) for e in nodes if isinstance(e, Call) and isinstance(e.op, Op))
    constants = [e for e in nodes if isinstance(e, Constant)]
    names, called = output_names(f), input_names(f)
    dims, open_places = input_dims(f), _open_places(f)
    inputs = {p.name: show_named(p.checked_type, dims.get(p, ())) for p in f.params}
    signature: dict[str, Any] = {"inputs": inputs, "outputs": list(names)} if names else {}
    if names:
        signature["output_types"] = _output_types(f, len(names))
    if named := {place: name for place, name in open_places.items() if name}:
        signature["dimensions"] = named
    if others := {p.name: n for p, n in called.items() if n != p.name}:
        signature["input_names"] = others
    if states := offered_states(f):
        signature["states"] = {name: names[n] if n < len(names) else f"out{n}" for name, n in states.items()}
    return {
        "type": repr(f.checked_type),
        **signature,
        "parameters": len(f.params),
        "parameter_bytes": sum(_bytes(t) for p in f.params for t in _tensors(p.checked_type)),
        "dynamic": list(open_places),
        "nodes": len(nodes),
        "constants": len(constants),
        "constant_bytes": sum(c.data.nbytes for c in constants if not isinstance(c.data, MissingData)),
        "operators": dict(sorted(calls.items(), key=lambda item: (-item[1], item[0]))),
    }


def _tensors(t: Any) -> Iterator[Any]:
    """The tensors of a type, tuples taken apart."""
    from ..ir import TensorType
    from ..ir.types import tuple_leaves

    return (leaf for leaf in tuple_leaves(t) if isinstance(leaf, TensorType)) if t is not None else iter(())


def _bytes(t: Any) -> int:
    """The bytes of a tensor, each element in whole bytes; 0 if its shape or the size of its elements is not known."""
    from math import prod

    if t.dtype == "bool":
        return bound(prod(t.static_shape)) if t.is_static else 0
    bits = re.fullmatch(r"[a-z]+(\d+)(?:x(\d+))?", t.dtype)
    if bits is None or not t.is_static:
        return 0
    return bound(prod(t.static_shape)) * -(-int(bits[1]) // 8) * int(bits[2] or 1)


def _operator(call: Any) -> str:
    """The name under which a call is counted: its operator, that of ONNX for nodes that wait for extents."""
    return f"onnx.{call.attrs.op_type}" if call.op.name == "onnx.node" else call.op.name


def _output_types(f: Any, count: int) -> list[str]:
    """The types of the outputs, with the names of open extents."""
    from ..ir.tensor_names import output_dims, show_named

    leaves = list(_tensors(f.checked_type.ret_type))
    rows = [*output_dims(f), *[()] * len(leaves)]
    return [show_named(t, row) for t, row in zip(leaves, rows, strict=False)] if len(leaves) == count else []


def _open_places(f: Any) -> dict[str, str]:
    """The dimensions of parameters and of the result that are known only at run time, `%x[0]`, `result.0[1]`, with their names."""
    from ..ir.tensor_names import input_dims, output_dims

    dims, tensors = input_dims(f), []
    for p in f.params:
        leaves = list(_tensors(p.checked_type))
        tensors += [(_place(f"%{p.name}", k, leaves), t, dims.get(p, ())) for k, t in enumerate(leaves)]
    if f.checked_type is not None:
        leaves = list(_tensors(f.checked_type.ret_type))
        rows = [*output_dims(f), *[()] * len(leaves)]
        tensors += [(_place("result", k, leaves), t, rows[k]) for k, t in enumerate(leaves)]
    return {
        f"{place}[{i}]": _bounds(d) or (row[i] if i < len(row) else "")
        for place, t, row in tensors
        for i, d in enumerate(t.shape)
        if not isinstance(d, int) or isinstance(d, SymbolicInt)
    }


def _bounds(d: Any) -> str:
    """A formula with the bounds of its lengths; empty for other extents."""
    bounds = [s.bounds for s in symbols_of([d])] if isinstance(d, SymbolicInt) else []
    return f"{d}, {', '.join(bounds)}" if bounds else ""


def _place(name: str, k: int, leaves: list[Any]) -> str:
    return name if len(leaves) == 1 else f"{name}.{k}"


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
            types = f["output_types"]
            yield f"  outputs: {', '.join(f'{o}: {t}' for o, t in zip(f['outputs'], types)) or ', '.join(f['outputs'])}"
        if "states" in f:
            yield f"  states (--state auto): {', '.join(f'{i}={o}' for i, o in f['states'].items())}"
        dynamic = [
            f"{place} ({f['dimensions'][place]})" if place in f.get("dimensions", {}) else place
            for place in f["dynamic"]
        ]
        yield f"  {f['parameters']} parameters ({f['parameter_bytes']} bytes)" + _said_of(dynamic)
        total = sum(operators.values())
        yield f"  {f['nodes']} nodes, {total} operators, {f['constants']} constants ({f['constant_bytes']} bytes)"
        rows = [(f"{count:6d}", op) for op, count in operators.items()]
        draw = drawer(sys.stdout)
        if draw is not None and rows:
            yield draw([(f"{'calls':>6s}", "operator"), *rows])
        else:
            yield from (f"  {count}  {op}" for count, op in rows)


def _said_of(dynamic: list[str]) -> str:
    return f", dynamic: {', '.join(dynamic)}" if dynamic else ""
