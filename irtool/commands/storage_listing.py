"""The listing of `irtool info --storage`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .tables import drawer, show_table

_VALUES = ("id", "token", "bytes", "device", "reads", "value", "made by", "type")
_INFO = ("workspace", "io", "constants", "target", "function")


def list_storage(record: Mapping[str, Any]) -> Iterator[str]:
    """Lines: for each function its values and their sizes, then sizes of functions by target, and the functions of each target."""
    for name, plan in record["functions"].items():
        if "reason" in plan:
            yield f"@{name}: no storage plan: {plan['reason']}"
            continue
        tokens = plan["tokens"]
        counts = f"{_count(len(plan['values']), 'value')} in {_count(len(tokens), 'storage token')}"
        yield f"@{name}: {counts}, {plan['total_bytes']} bytes"
        yield from _table(_VALUES, [_value(v, tokens[v["storage_id"]]) for v in plan["values"]], right=(0, 1, 2, 4))
    if record["function_info"]:
        yield ""
        yield "bytes by function and target:"
        rows = [row for name, info in record["function_info"].items() for row in _info(name, info)]
        yield from _table(_INFO, rows, right=(0, 1, 2))
    if "kernels" in record:
        yield f"  kernels could not be lowered: {record['kernels']['reason']}"
    yield ""
    yield "functions by target:"
    yield from (f"  {target}: {', '.join(f'@{n}' for n in names)}" for target, names in record["targets"].items())


def _value(v: Mapping[str, Any], token: Mapping[str, Any]) -> tuple[str, ...]:
    """A row: the number and the bytes of the storage token, the bytes of the value, and so on."""
    field = "" if v["field"] is None else f".{v['field']}"
    return (
        str(v["storage_id"]),
        str(token["bytes"]),
        str(v["bytes"]),
        v["device"] or "any",
        str(v["references"]),
        v["value"] and v["value"] + field,
        v["made_by"] + ("" if v["value"] else field),
        v["type"],
    )


def _info(name: str, info: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for target in dict.fromkeys((*info["workspace"], *info["io"], *info["constants"])):
        sizes = (str(info[what].get(target, 0)) for what in ("workspace", "io", "constants"))
        yield (*sizes, target, name)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int]) -> Iterator[str]:
    """A table with its titles; columns of numbers are flush right."""
    widths = [max(len(r[i]) for r in (head, *rows)) for i in range(len(head))]
    cells = [[c.rjust(widths[i]) if i in right else c for i, c in enumerate(r)] for r in (head, *rows)]
    draw = drawer(sys.stdout)
    if draw is not None:
        yield draw(cells)
        return
    text = show_table(cells, widths[:-1], 0)
    yield from (f"  {line}" for line in text.split("\n"))


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"
