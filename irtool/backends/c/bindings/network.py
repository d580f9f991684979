"""The functions of a network that bindings call, and the sizes that they check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from .... import __version__
from ....diagnostics import UsageError
from ....symbolic_int import SymbolicInt, bound, symbols_of
from ...interface.entry import EntryPoint, Parameter
from ...interface.memory import ALIGNMENT
from ...library import ERRORS
from ..banner import LICENCE

if TYPE_CHECKING:
    from ..program import CText


@dataclass(frozen=True)
class BoundNetwork:
    """A network as bindings see it.

    Attributes:
        name: the network's.
        banner: the lines of the comment at the beginning of each file.
        entries: its entry points.
        arena_bytes: workspace of one run, with room for its alignment.
        has_weights: whether the weights are in a file.
    """

    name: str
    banner: Sequence[str]
    entries: Sequence[EntryPoint]
    arena_bytes: int
    has_weights: bool

    @property
    def errors(self) -> dict[int, str]:
        """The messages of errors by their numbers."""
        return ERRORS

    def method(self, entry: EntryPoint) -> str:
        """The name of an entry's function in the bindings: `run`, or `run_encode` for another one."""
        return "run" if entry is self.entries[0] else entry.run.removeprefix(f"{self.name}_")


def bound_network(name: str, text: CText) -> BoundNetwork:
    """The network of a C text. Raises UsageError for networks that bindings have no form for."""
    check_bound(text.entries)
    tensors = [
        f"  {way}  {type_text(p)} {p.name}"
        for e in text.entries[:1]
        for way, parameters in (("in ", e.inputs), ("out", e.outputs))
        for p in parameters
    ]
    banner = [f"The functions of {name}.h.", "", *tensors, "", f"Written by irtool {__version__}.", LICENCE]
    return BoundNetwork(name, banner, text.entries, text.arena_bytes + ALIGNMENT, bool(text.weights))


def check_bound(entries: Sequence[EntryPoint]) -> None:
    """Raises UsageError for networks that bindings have no form for."""
    for entry in entries:
        if entry.function.values is not None:
            raise UsageError(f"bindings have tensors, and @{entry.function.name} has values of data types")
        if entry.arena_size:
            raise UsageError("bindings need bounds of all lengths", help="--dim 'seq<=512'")
        if entry.positions:
            raise UsageError(f"bindings have states of constant shapes, and those of @{entry.function.name} grow")


def count_of(p: Parameter, entry: EntryPoint) -> tuple[str, bool]:
    """The number of elements that a tensor has to have, in C; whether it is exact, or the least number, where values decide an extent."""
    size = p.slot.size
    if not isinstance(size, SymbolicInt):
        return str(size), True
    if all(s in entry.symbols for s in symbols_of([size])):
        return str(size), True
    return str(bound(size)), False


class SizeCheck(NamedTuple):
    """The check of a tensor that a wrapper makes before a run.

    Attributes:
        label: the tensor's name and type, for the message.
        elements, is_exact: as `count_of` returns them.
    """

    parameter: Parameter
    label: str
    elements: str
    is_exact: bool


def size_checks(entry: EntryPoint) -> list[SizeCheck]:
    """The checks of all tensors of an entry, in order."""
    return [SizeCheck(p, f"{p.name}, {type_text(p)}", *count_of(p, entry)) for p in entry.tensors]


def type_text(p: Parameter) -> str:
    """`float32[1, 3]`."""
    return f"{p.slot.dtype}[{p.shape}]"
