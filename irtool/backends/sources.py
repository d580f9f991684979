"""Inputs and outputs of a backend."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..tir.program import HostFunction, Program, Slot


@dataclass(frozen=True)
class Parameter:
    """One tensor that the caller hands over, and its name in the code."""

    slot: Slot
    name: str

    @property
    def shape(self) -> str:
        """`1, 3, 224, 224`."""
        return ", ".join(map(str, self.slot.shape))


@dataclass(frozen=True)
class EntryPoint:
    """A function of the network that can be called from outside: `run` is its symbol. It takes the addresses of all inputs,
    then of all outputs, and returns 0 or an error (see `library`). `run_with` takes the address and the size of a workspace before
    these; empty if there is no such function."""

    function: HostFunction
    run: str
    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]
    run_with: str = ""

    @property
    def tensors(self) -> tuple[Parameter, ...]:
        """Inputs, then outputs."""
        return (*self.inputs, *self.outputs)


def entry_points(program: Program) -> list[EntryPoint]:
    """The entry points of a program by the names that its module has, for backends that need no others."""
    entries = []
    for name in program.entry_names:
        f = program.functions[name]
        inputs, outputs = (tuple(Parameter(s, s.name) for s in slots) for slots in (f.params, f.results))
        entries.append(EntryPoint(f, name, inputs, outputs))
    return entries


@dataclass(frozen=True)
class Draw:
    """Numbers from `low` up to below `high` as `numpy.random.RandomState(seed)` draws them: `randint` if they are `whole`, or
    `uniform`, one after the other in row-major order."""

    seed: int
    low: float
    high: float
    whole: bool


@dataclass(frozen=True)
class Sample:
    """Inputs of an entry, in the order of its tensors, and its outputs.

    Attributes:
        inputs: how each is drawn, or an array where that does not tell its elements.
        outputs: flat arrays; 16-bit floats as float32.
    """

    inputs: Sequence[Draw | Any]
    outputs: Sequence[Any]


@dataclass(frozen=True)
class Request:
    """What a build asks of a backend, beside its flags.

    Attributes:
        name: prefix of files and symbols; one that `Backend.fit_name` gives back as it is.
        emit: how far to go, one of the backend's `emits`.
        sample: the random inputs of an entry and what the interpreter gives for them. Raises IrError if this machine cannot
            hold them.
        folder: an empty folder in which `emit` may begin what `build` is to do there; None: it writes only.
        resources: what is to be ended where the build ends before its time.
    """

    name: str
    emit: str
    sample: Callable[[HostFunction], Sample]
    folder: Path | None = None
    resources: ExitStack = field(default_factory=ExitStack)


@dataclass
class Sources:
    """What a backend writes.

    Attributes:
        files: contents by name, as lists of buffers, or the path of a file in the request's folder; the first is what a user
            reads first.
        entries: the entry points, `NAME_run` first.
        arena_bytes: workspace of one run.
        identifiers: the names of the first entry's parameters in the code.
        kernel_names: the names of the kernels in the code.
        weights: name of the weights file among `files`, or empty.
        report: facts of the build report beyond those of every program.
        units: what is compiled, where that is not among `files`: kept beside them when compiling fails.
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
    """What compiling made: files to copy by name, which of them `Backend.load` takes, which is a program, and what the user is to
    be told of them."""

    files: Mapping[str, Path] = field(default_factory=dict)
    library: str = ""
    program: str = ""
    notes: tuple[str, ...] = ()
