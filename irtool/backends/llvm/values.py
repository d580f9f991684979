"""Runs on values of data types: see `backends.c.values`, which has them in C."""

from __future__ import annotations

from collections.abc import Callable

from ...tir.dtypes import HANDLE
from ...tir.errors import OTHER_VALUES_ERROR
from ..interface.entry import EntryPoint
from ..interface.tables import last_seen
from ..interface.values import VARIABLE
from .builder import Builder
from .library import Library
from .refusals import refuse, refuse_if_error
from .region import end_of_objects, note_values


def define_table(table: list[int], symbol: str) -> str:
    """The table of the program's objects."""
    numbers = ", ".join(f"i64 {n}" for n in table)
    return f"@{symbol} = internal constant [{len(table)} x i64] [{numbers}], align 8"


def run_on_values(
    b: Builder,
    e: EntryPoint,
    library: Library,
    region: str,
    table: str,
    call: Callable[[], str],
) -> str:
    """Writes the copies around the steps of a run, which returns for errors.

    Args:
        region: the address of the opened region.
        table: the address of the table of objects.
        call: writes the call of the steps, and gives their error.

    Returns:
        The error.
    """
    values = e.function.values
    assert values is not None
    types = {p.name: values.type_of(p.slot) for p in e.tensors}
    inputs = [p.name for p in e.inputs if p.slot.dtype == HANDLE]
    memory = f"%{VARIABLE}"
    refuse(b, b.value(f"icmp eq ptr {memory}, null"), OTHER_VALUES_ERROR)
    begin = b.value(f"ptrtoint ptr {memory} to i64")
    refuse(b, b.value(f"icmp ne i64 {b.value(f'and i64 {begin}, 7')}, 0"), OTHER_VALUES_ERROR)
    has_head = b.value(f"call i32 {library.objects('irt_has_head')}(ptr {memory})")
    refuse(b, b.value(f"icmp eq i32 {has_head}, 0"), OTHER_VALUES_ERROR)
    if inputs:
        arguments = f"ptr {region}, ptr {memory}, ptr {table}, i64 {last_seen(e.function)}"
        refuse_if_error(b, b.value(f"call i32 {library.objects('irt_far_take')}({arguments})", "code"))
        start = end_of_objects(b, region)
    for n in inputs:
        t = types[n]
        assert t is not None
        handle = b.value(f"load i64, ptr %{n}, align 8", "handle")
        arguments = f"ptr {region}, ptr {table}, i64 {handle}, i64 {t.first}, i64 {len(t.alternatives)}, i64 {start}"
        fits = b.value(f"call i32 {library.objects('irt_is')}({arguments})")
        refuse(b, b.value(f"icmp eq i32 {fits}, 0"), OTHER_VALUES_ERROR)
    note_values(b, region, memory)
    return call()
