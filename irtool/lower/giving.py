"""The last step of a run with results of data types or references: it adds their objects to the caller's memory.

That may fail, if the memory is too small. So it is a step like others, and outputs and states are copied behind it. ::

    run main(list) -> out0, out1        run main(list) -> handle, out1_whole
                                   ⇒    give handle -> out0, or return 13
                                        copy out1_whole to out1
"""

from __future__ import annotations

from ..tir.dtypes import HANDLE
from ..tir.program import RESULT, TEMP, HostFunction, Program, Slot, calls, steps
from ..tir.region import Give


def give_values(program: Program) -> None:
    """Adds the step to the entries that give values and do not have it yet. No function calls an entry: each was prepared by itself."""
    called = {name for f in program.functions.values() for name in calls(f)}
    for name in program.entry_names:
        f = program.functions[name]
        if not f.gives_values or any(isinstance(s, Give) for s in steps(f.body)):
            continue
        assert f.values is not None
        handles = [r for r in f.results if r.resolve().dtype == HANDLE]
        assert name not in called, f"@{name} is called, and gives values"
        own = [compute_elsewhere(f, r.resolve(), "handle") for r in handles]
        f.body.append(Give([r.resolve() for r in handles], own, f.values.may_be_written and f.takes_values))


def compute_elsewhere(f: HostFunction, slot: Slot, suffix: str) -> Slot:
    """Makes the slot of a result a temporary; the new slot of the result, which nothing writes yet."""
    own = Slot(slot.name, slot.shape, slot.dtype, RESULT)
    slot.kind, slot.name = TEMP, f"{slot.name}_{suffix}"
    f.results = [own if r.resolve() is slot else r for r in f.results]
    if f.values is not None:
        f.values = f.values.with_slot(own, slot)
    return own
