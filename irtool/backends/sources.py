"""Inputs and outputs of a backend."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..symbolic_int import Symbol
from ..tir.program import HostFunction, Program, Slot

SAVED_HEAD = 32
"""Bytes in front of a saved instance."""


@dataclass(frozen=True)
class Parameter:
    """One tensor that the caller passes, and its name in the code."""

    slot: Slot
    name: str

    @property
    def shape(self) -> str:
        """`1, 3, 224, 224`."""
        return ", ".join(map(str, self.slot.shape))


@dataclass(frozen=True)
class InstanceMemory:
    """The bytes of an instance of a network with states, and of a saved one.

    Attributes:
        offsets: the places of the states in it, in order, in bytes.
    """

    nbytes: int
    offsets: tuple[int, ...]

    @property
    def saved_bytes(self) -> int:
        """Bytes of a saved one."""
        return SAVED_HEAD + self.nbytes


@dataclass(frozen=True)
class EntryPoint:
    """A function of the network for callers outside: `run` is its symbol.

    It takes the addresses of all inputs, then of all outputs, and returns 0 or an error (see `library`). `run_with` takes the
    address and the size of a workspace before these; empty without such a function.
    """

    function: HostFunction
    run: str
    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]
    run_with: str = ""
    instance: InstanceMemory | None = None
    """The memory of what the entry keeps from one step to the next, which its functions take the address of before its tensors; None if
    it has no states."""
    arena_size: str = ""
    """The symbol of the function that gives the bytes of workspace for lengths; empty if they are a number. `run` does not exist then."""

    @property
    def tensors(self) -> tuple[Parameter, ...]:
        """Inputs, then outputs."""
        return (*self.inputs, *self.outputs)


def entry_points(program: Program) -> list[EntryPoint]:
    """The entry points of a program by the names in its module, for backends that need no others."""
    entries = []
    for name in program.entry_names:
        f = program.functions[name]
        inputs, outputs = (tuple(Parameter(s, s.name) for s in slots) for slots in (f.params, f.results))
        entries.append(EntryPoint(f, name, inputs, outputs))
    return entries


@dataclass(frozen=True)
class Draw:
    """Numbers from `low` up to below `high` as `numpy.random.RandomState(seed)` draws them, in row-major order: `randint` if they
    are `whole`, or `uniform`."""

    seed: int
    low: float
    high: float
    whole: bool


@dataclass(frozen=True)
class SampleValues:
    """Values of data types and references in a sample: inputs and outputs that are values are handles.

    Attributes:
        memory: the memory of the inputs, an array of words.
        expected: the memory of inputs and outputs after the run.
        inputs: the handles of the inputs there, by the number of the input.
    """

    memory: Any
    expected: Any
    inputs: Mapping[int, int]


@dataclass(frozen=True)
class Sample:
    """Inputs of an entry, in the order of its tensors, and its outputs.

    Attributes:
        inputs: the draw of each input, or an array if it was not drawn.
        outputs: flat arrays; 16-bit floats as float32.
        positions: the lengths that the instance has before the step.
        is_first: whether it is the first step of an instance.
        values: the values of data types and references among inputs and outputs; None if all are tensors.
    """

    inputs: Sequence[Draw | Any]
    outputs: Sequence[Any]
    positions: Mapping[Symbol, int] = field(default_factory=dict)
    is_first: bool = False
    values: SampleValues | None = None


@dataclass(frozen=True)
class Request:
    """A build's request to a backend, beside its flags.

    Attributes:
        name: prefix of files and symbols; one that `Backend.fit_name` leaves unchanged.
        emit: the output, one of the backend's `emits`.
        samples: the random inputs of an entry with the interpreter's outputs, for values of the lengths that a run decides: of one run, or
            of consecutive steps where it has states. Raises IrError if they exceed this machine's memory.
        folder: an empty folder in which `emit` may begin the work of `build`; None: it writes only.
        resources: resources to release if the build ends early.
        object_cache: a folder of object files that builds share; None: they share nothing.
        model_digest: gives the SHA-256 of the module as text, with its weights.
    """

    name: str
    emit: str
    samples: Callable[[HostFunction, Mapping[Symbol, int]], Sequence[Sample]]
    folder: Path | None = None
    resources: ExitStack = field(default_factory=ExitStack)
    object_cache: Path | None = None
    model_digest: Callable[[], str] = str


@dataclass
class Sources:
    """The output of a backend's `emit`.

    Attributes:
        files: contents by name, as lists of buffers, or the path of a file in the request's folder; the first is the one for
            readers.
        entries: the entry points, `NAME_run` first.
        arena_bytes: workspace of one run.
        identifiers: the names of the first entry's parameters in the code.
        kernel_names: the names of the kernels in the code.
        weights: name of the weights file among `files`, or empty.
        report: facts for the build report beyond those of every program.
        units: the compiled files, if they are not among `files`: kept beside them if compiling fails.
    """

    files: Mapping[str, list[Any] | Path]
    entries: Sequence[EntryPoint]
    arena_bytes: int
    identifiers: Mapping[str, str] = field(default_factory=dict)
    kernel_names: Mapping[str, str] = field(default_factory=dict)
    weights: str = ""
    report: dict[str, Any] = field(default_factory=dict)
    units: dict[str, list[Any]] = field(default_factory=dict)

    def buffers(self, name: str) -> list[Any]:
        """The contents of one of the files."""
        content = self.files[name]
        return [content.read_bytes()] if isinstance(content, Path) else content


@dataclass(frozen=True)
class Built:
    """The output of a backend's `build`: files to copy by name, the one that `Backend.load` takes, the program, notes for the
    user, and facts for the report that compiled files show."""

    files: Mapping[str, Path] = field(default_factory=dict)
    library: str = ""
    program: str = ""
    notes: tuple[str, ...] = ()
    report: Mapping[str, Any] = field(default_factory=dict)
