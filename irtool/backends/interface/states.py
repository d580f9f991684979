"""The instances of a network with states: their memory, and the functions that begin, save and restore them.

An instance is a struct of the tensors that stay from one step to the next, in the order of the parameters. Saved, it has a head of four
64-bit words in front, in the byte order of the machine::

    "irtstate"   identity of the layout   bytes of the struct   digest of its words

The digest takes 64-bit words in turn, the last one filled with zeros: `h = (h ^ word) * 0x9e3779b97f4a7c15; h ^= h >> 32`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from ...tir import dtypes
from ...tir.program import OTHER_STATE_ERROR, HostFunction, State
from ..c_types import stored_type
from ..sources import InstanceMemory
from .names import Identifiers

MAGIC = int.from_bytes(b"irtstate", "little")
FACTOR = 0x9E3779B97F4A7C15
OF_INSTANCES = ("step", "step_with", "net", "init", "state", "state_digest")
"""The names, behind `NAME_`, of the struct and of functions on it."""

OTHER_STATE = "OTHER_STATE"
"""The name, behind that of the program, of the error of bytes that are no saved state of it."""


@dataclass(frozen=True)
class Field:
    """A tensor of the struct: its name there, and where it begins, in bytes."""

    state: State
    name: str
    offset: int

    @property
    def nbytes(self) -> int:
        """Its bytes; an empty tensor has one element of memory."""
        return max(1, self.state.slot.size) * dtypes.itemsize(self.state.slot.dtype)


@dataclass(frozen=True, kw_only=True)
class Instance(InstanceMemory):
    """The struct of a network's states.

    Attributes:
        name: the network's.
        variable: the name of the parameter that points to one.
        fields: its tensors, in order.
    """

    name: str
    variable: str
    fields: tuple[Field, ...]

    @property
    def declaration(self) -> str:
        """The parameter that points to it."""
        return f"struct {self.name}_net *{self.variable}"

    @property
    def identity(self) -> int:
        """A digest of the names, shapes and dtypes of its tensors, and of the network's name."""
        about = [self.name, *(f"{f.state.name}{list(f.state.slot.shape)}{f.state.slot.dtype}" for f in self.fields)]
        return int.from_bytes(hashlib.sha256("\n".join(about).encode()).digest()[:8], "little")


def instance_of(function: HostFunction, name: str, variable: str) -> Instance | None:
    """The struct of an entry's states; None without states."""
    if not function.states:
        return None
    names = Identifiers()
    fields: list[Field] = []
    end = alignment = 0
    for s in function.states:
        size = dtypes.itemsize(s.slot.dtype)
        alignment = max(alignment, size)
        field = Field(s, names.fresh(s.name), -(-end // size) * size)
        fields.append(field)
        end = field.offset + field.nbytes
    return Instance(-(-end // alignment) * alignment, name=name, variable=variable, fields=tuple(fields))


def declare_instance(i: Instance) -> list[str]:
    """The struct and its macros, for a header."""
    upper = i.name.upper()
    lines = ["/* An instance: what stays from one step to the next. Any number of instances share the weights. */"]
    lines.append(f"struct {i.name}_net {{")
    for f in i.fields:
        slot = f.state.slot
        shape = ", ".join(map(str, slot.shape))
        copied = ", by a copy" if f.state.is_copied else ""
        lines.append(
            f"  {stored_type(slot.dtype)} {f.name}[{max(1, slot.size)}];"
            f" /* {slot.dtype}[{shape}]; a step updates it{copied} */"
        )
    return [
        *lines,
        "};",
        "",
        "/* Bytes of a saved state. */",
        f"#define {upper}_STATE_SIZE {i.saved_bytes}u",
        "",
        "/* The error of bytes that are no saved state of this network, or damaged. */",
        f"#define {upper}_{OTHER_STATE} {OTHER_STATE_ERROR}",
        "",
    ]


def declare_functions(i: Instance) -> list[str]:
    """The functions on instances, for a header."""
    return [
        "",
        "/* Begins anew: gives the states their first values. Before the first step of an instance. */",
        f"int {i.name}_init({i.declaration});",
        "",
        f"/* Saves the state to {i.name.upper()}_STATE_SIZE bytes, if `saved` is not null; then takes the state from as many bytes that",
        " * were saved, if `restored` is not null. Bytes that are refused change nothing. */",
        f"int {i.name}_state({i.declaration}, void *saved, const void *restored);",
    ]
