"""Runs on values of data types: the caller's objects are copied to the region, and checked. The last step of a run copies results back."""

from __future__ import annotations

from collections.abc import Callable

from ...tir.dtypes import HANDLE
from ...tir.errors import OTHER_VALUES_ERROR
from ...tir.program import Program
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


def run_on_values(name: str, e: EntryPoint, table: str, opened: str, parameters: str, call: Callable[..., str]) -> str:
    """The function that does so.

    Args:
        table: the symbol of the table.
        opened: the expression that opens the region.
        call: gives the call of the steps, with the region.
    """
    values = e.function.values
    assert values is not None
    types = {p.name: values.type_of(p.slot) for p in e.tensors}
    inputs = [p.name for p in e.inputs if p.slot.dtype == HANDLE]
    memory = f"(int64_t *)(void *){VARIABLE}"
    lines = [
        f"  irt_region *const region = {opened};",
        f"  if (!{VARIABLE} || (uintptr_t){VARIABLE} % 8 != 0 || !irt_has_head({memory})) return {OTHER_VALUES_ERROR};",
    ]
    if inputs:
        lines[1:1] = ["  int64_t *const objects = (int64_t *)(void *)region;", "  int code;"]
        checks = []
        for n in inputs:
            t = types[n]
            assert t is not None
            checks.append(f"!irt_is(objects, {table}, *{n}, {t.first}, {len(t.alternatives)}, region->top)")
        lines += [
            f"  code = irt_far_take(objects, {memory}, {table}, {last_seen(e.function)});",
            "  if (code) return code;",
            "  region->from = region->top;",
            f"  if ({' || '.join(checks)}) return {OTHER_VALUES_ERROR};",
        ]
    lines += [f"  region->values = {memory};", f"  return {call('region')};"]
    return "\n".join([f"static int {name}({parameters}) {{", *lines, "}", "", ""])
