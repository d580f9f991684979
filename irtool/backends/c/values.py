"""Runs on values of data types: copies of them to the region, and of objects that results lead to to the caller's memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...tir.dtypes import HANDLE
from ...tir.errors import OTHER_VALUES_ERROR, VALUES_FULL_ERROR
from ...tir.program import Program
from ...tir.region import HEADER
from ..interface.entry import EntryPoint
from ..interface.tables import last_seen, table_of
from ..interface.values import VARIABLE

_WIDTH = 20
"""Numbers in a line."""


def define_table(program: Program, symbol: str) -> list[str]:
    """The table as an array of C."""
    table = table_of(program)
    rows = [", ".join(map(str, table[n : n + _WIDTH])) for n in range(0, len(table), _WIDTH)]
    return [f"static const int64_t {symbol}[{len(table)}] = {{", *(f"  {row}," for row in rows), "};", ""]


def run_on_values(name: str, e: EntryPoint, table: str, begin: int, parameters: str, call: Callable[..., str]) -> str:
    """The function that does so.

    Args:
        table: the symbol of the table.
        begin: the offset of the region in the workspace.
        call: gives the call of the steps, with the region and the addresses of some tensors, by their names.
    """
    values = e.function.values
    assert values is not None
    types = {p.name: values.type_of(p.slot) for p in e.tensors}
    inputs = [p.name for p in e.inputs if p.slot.dtype == HANDLE]
    outputs = [p.name for p in e.outputs if p.slot.dtype == HANDLE]
    written = values.may_be_written and bool(inputs)
    memory = f"(int64_t *)(void *){VARIABLE}"
    lines = [
        f"  irt_region *const region = irt_open(base + {begin}, end);",
        f"  int64_t *const objects = (int64_t *)(void *)region, given[{max(1, len(outputs))}] = {{0}};",
        f"  int64_t from = {HEADER};",
        "  int code;",
        f"  if (!{VARIABLE} || (uintptr_t){VARIABLE} % 8 != 0 || !irt_has_head({memory})) return {OTHER_VALUES_ERROR};",
    ]
    if inputs:
        checks = []
        for n in inputs:
            t = types[n]
            assert t is not None
            checks.append(f"!irt_is(objects, {table}, *{n}, {t.first}, {len(t.alternatives)}, from)")
        lines += [
            f"  code = irt_far_take(objects, {memory}, {table}, {last_seen(e.function)});",
            "  if (code) return code;",
            "  from = region->top;",
            f"  if ({' || '.join(checks)}) return {OTHER_VALUES_ERROR};",
        ]
    places: Mapping[str, str] = {n: f"&given[{k}]" for k, n in enumerate(outputs)}
    lines += [f"  code = {call('region', places)};", "  if (code) return code;"]
    lines.append(
        f"  if (!irt_far_give(objects, {memory}, {table}, from, given, {len(outputs)}, {int(written)})) return {VALUES_FULL_ERROR};"
    )
    lines += [f"  *{n} = given[{k}];" for k, n in enumerate(outputs)]
    return "\n".join([f"static int {name}({parameters}) {{", *lines, "  return 0;", "}", "", ""])
