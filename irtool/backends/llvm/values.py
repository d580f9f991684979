"""Runs on values of data types: see `backends.c.values`, which has them in C."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...tir.dtypes import HANDLE
from ...tir.errors import OTHER_VALUES_ERROR, VALUES_FULL_ERROR
from ...tir.region import HEADER
from ..interface.entry import EntryPoint
from ..interface.tables import last_seen
from ..interface.values import VARIABLE
from .builder import Builder
from .library import Library
from .refusals import refuse, refuse_if_error


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
    call: Callable[[Mapping[str, str]], str],
) -> str:
    """Writes the copies around the steps of a run, which returns for errors.

    Args:
        region: the address of the opened region.
        table: the address of the table of objects.
        call: writes the call of the steps, with the addresses of some tensors by their names, and gives their error.

    Returns:
        The error.
    """
    values = e.function.values
    assert values is not None
    types = {p.name: values.type_of(p.slot) for p in e.tensors}
    inputs = [p.name for p in e.inputs if p.slot.dtype == HANDLE]
    outputs = [p.name for p in e.outputs if p.slot.dtype == HANDLE]
    written = values.may_be_written and bool(inputs)
    handles = b.slot(f"[{max(1, len(outputs))} x i64]", "given")
    memory = f"%{VARIABLE}"
    refuse(b, b.value(f"icmp eq ptr {memory}, null"), OTHER_VALUES_ERROR)
    begin = b.value(f"ptrtoint ptr {memory} to i64")
    refuse(b, b.value(f"icmp ne i64 {b.value(f'and i64 {begin}, 7')}, 0"), OTHER_VALUES_ERROR)
    has_head = b.value(f"call i32 {library.objects('irt_has_head')}(ptr {memory})")
    refuse(b, b.value(f"icmp eq i32 {has_head}, 0"), OTHER_VALUES_ERROR)
    start = str(HEADER)
    if inputs:
        arguments = f"ptr {region}, ptr {memory}, ptr {table}, i64 {last_seen(e.function)}"
        refuse_if_error(b, b.value(f"call i32 {library.objects('irt_far_take')}({arguments})", "code"))
        start = b.value(f"load i64, ptr {region}, align 8", "from")
    for n in inputs:
        t = types[n]
        assert t is not None
        handle = b.value(f"load i64, ptr %{n}, align 8", "handle")
        arguments = f"ptr {region}, ptr {table}, i64 {handle}, i64 {t.first}, i64 {len(t.alternatives)}, i64 {start}"
        fits = b.value(f"call i32 {library.objects('irt_is')}({arguments})")
        refuse(b, b.value(f"icmp eq i32 {fits}, 0"), OTHER_VALUES_ERROR)
    places = {n: b.value(f"getelementptr i8, ptr {handles}, i64 {8 * k}", "given") for k, n in enumerate(outputs)}
    refuse_if_error(b, call(places))
    arguments = (
        f"ptr {region}, ptr {memory}, ptr {table}, i64 {start}, ptr {handles}, i64 {len(outputs)}, i32 {int(written)}"
    )
    fits = b.value(f"call i32 {library.objects('irt_far_give')}({arguments})")
    refuse(b, b.value(f"icmp eq i32 {fits}, 0"), VALUES_FULL_ERROR)
    for n in outputs:
        b.do(f"store i64 {b.value(f'load i64, ptr {places[n]}, align 8')}, ptr %{n}, align 8")
    return "0"
