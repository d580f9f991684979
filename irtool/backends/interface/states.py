"""The instances of a network with states: their memory, and the functions that begin, save and restore them.

An instance is a struct of the lengths and the tensors that stay from one step to the next, tensors in the order of the parameters. Saved, it
has a head of four 64-bit words in front, in the byte order of the machine::

    "irtstate"   identity of the layout   bytes of the struct   digest of its words

The digest takes 64-bit words in turn, the last one filled with zeros: `h = (h ^ word) * 0x9e3779b97f4a7c15; h ^= h >> 32`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from ...tir import dtypes
from ...tir.errors import OTHER_STATE_ERROR, STATE_FULL_ERROR
from ...tir.program import HostFunction, State, StateLength
from ..c_types import stored_type
from ..sources import InstanceMemory
from .names import Identifiers

MAGIC = int.from_bytes(b"irtstate", "little")
FACTOR = 0x9E3779B97F4A7C15
OF_INSTANCES = (
    *("step", "step_with", "net", "init", "state", "state_digest"),
    *("prefill", "prefill_with", "decode", "decode_with", "rewind"),
)
"""The names, behind `NAME_`, of the struct and of functions on it."""

OTHER_STATE = "OTHER_STATE"
"""The name, behind that of the program, of the error of bytes that are no saved state of it."""

STATE_FULL = "STATE_FULL"
"""The same of a step for which its states have no room."""

_LENGTH_BYTES = 8


@dataclass(frozen=True)
class Field:
    """A tensor of the struct: its name there, where it begins, in bytes, and the number of its elements there, one at least."""

    state: State
    name: str
    offset: int
    count: int

    @property
    def nbytes(self) -> int:
        """Its bytes."""
        return self.count * dtypes.itemsize(self.state.slot.dtype)


@dataclass(frozen=True)
class LengthField:
    """A length of the struct, an `int64_t`: its name there, and where it is, in bytes."""

    length: StateLength
    name: str
    offset: int


@dataclass(frozen=True, kw_only=True)
class Instance(InstanceMemory):
    """The struct of a network's states.

    Attributes:
        name: the network's.
        variable: the name of the parameter that points to one.
        fields: its tensors, in order.
        lengths: the lengths in their shapes.
    """

    name: str
    variable: str
    fields: tuple[Field, ...]
    lengths: tuple[LengthField, ...] = ()

    @property
    def declaration(self) -> str:
        """The parameter that points to it."""
        return f"struct {self.name}_net *{self.variable}"

    @property
    def identity(self) -> int:
        """A digest of the names, shapes and dtypes of its tensors, of its lengths, and of the network's name."""
        about = [self.name, *(f"{f.state.name}{list(f.state.slot.shape)}{f.state.slot.dtype}" for f in self.fields)]
        about += [f"{f.length.symbol.name} {f.length.next} {f.length.capacity}" for f in self.lengths]
        return int.from_bytes(hashlib.sha256("\n".join(about).encode()).digest()[:8], "little")


def instance_of(function: HostFunction, name: str, variable: str) -> Instance | None:
    """The struct of an entry's states; None without states."""
    if not function.states:
        return None
    names = Identifiers()
    fields: list[Field] = []
    lengths = [
        LengthField(x, names.fresh(x.symbol.name), n * _LENGTH_BYTES) for n, x in enumerate(function.state_lengths)
    ]
    end = len(lengths) * _LENGTH_BYTES
    alignment = min(end, _LENGTH_BYTES)
    for s in function.states:
        size = dtypes.itemsize(s.slot.dtype)
        alignment = max(alignment, size)
        field = Field(s, names.fresh(s.name), -(-end // size) * size, max(1, function.elements_of(s)))
        fields.append(field)
        end = field.offset + field.nbytes
    size = -(-end // alignment) * alignment
    return Instance(
        size,
        tuple(f.offset for f in fields),
        name=name,
        variable=variable,
        fields=tuple(fields),
        lengths=tuple(lengths),
    )


def declare_instance(i: Instance) -> list[str]:
    """The struct and its macros, for a header."""
    upper = i.name.upper()
    lines = ["/* An instance: what stays from one step to the next. Any number of instances share the weights. */"]
    lines.append(f"struct {i.name}_net {{")
    lines += [f"  int64_t {f.name}; /* {_meaning(f.length)} */" for f in i.lengths]
    for f in i.fields:
        slot = f.state.slot
        shape = ", ".join(map(str, slot.shape))
        copied = ", by a copy" if f.state.is_copied else ""
        lines.append(
            f"  {stored_type(slot.dtype)} {f.name}[{f.count}]; /* {slot.dtype}[{shape}]; a step updates it{copied} */"
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
        *_full(i),
    ]


def _meaning(length: StateLength) -> str:
    """The comment on a length."""
    name, most = length.symbol.name, length.capacity
    if length.is_position:
        return f"the length {name}, at most {most}; a step makes it {length.next}"
    return f"the length {name} of all steps, at most {most}; 0 before the first one"


def _full(i: Instance) -> list[str]:
    """The macro for the error of states without room."""
    positions = [f.length for f in i.lengths if f.length.is_position]
    if not positions:
        return []
    limits = " or ".join(f"{x.next} > {x.capacity}" for x in positions)
    return [
        f"/* The error of a step for which the states have no room: {limits}. */",
        f"#define {i.name.upper()}_{STATE_FULL} {STATE_FULL_ERROR}",
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
