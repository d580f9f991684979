"""The functions on instances of a network with states: they begin, save and restore them."""

from __future__ import annotations

from collections.abc import Callable

from ...tir.program import Slot
from ..interface.states import FACTOR, MAGIC, OTHER_STATE, Instance
from .runtime import fill_runtime


def define_functions(i: Instance, constant: Callable[[Slot], str]) -> str:
    """`NAME_init` and `NAME_state`; `constant` gives the C expression of a constant."""
    first = [(f, f.state.first.resolve()) for f in i.fields if f.state.first is not None]
    return fill_runtime(
        "states.c",
        name=i.name,
        net=i.declaration,
        variable=i.variable,
        size=i.nbytes,
        factor=f"0x{FACTOR:x}",
        magic=f"0x{MAGIC:x}",
        identity=f"0x{i.identity:016x}",
        error=f"{i.name.upper()}_{OTHER_STATE}",
        first="".join(f"  memcpy({i.variable}->{f.name}, {constant(c)}, {c.nbytes}u);\n" for f, c in first),
    )
