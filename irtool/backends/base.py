"""The base class of backends: a frozen dataclass whose fields are its flags.

A backend turns a scheduled program with planned memory (`tir.program`) into files, and these into a library or a program.
`--target` names it::

    @backend("c")
    @dataclass(frozen=True)
    class C(Backend):
        '''Portable C99 …'''

        math: str = flag("fast", "own vectorized exp, tanh …, or those of libm", choices=("fast", "strict"))

`--target='c{math=strict}'` and `--math=strict` set the same field. `driver/` sees nothing of backends but this module.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar, runtime_checkable

from ..diagnostics import Diagnostic, UsageError, nearest
from ..plugin import Plugin, Registry, type_hints
from ..plugin.mistakes import adopt, check_dataclass, refuse
from ..plugin.origin import is_outside
from ..tir.program import Program
from ..tir.vector_target import SIZES, VectorTarget
from .flags import flag, merge_flags, read_flag, show_flag
from .interface.lengths import length_names
from .sources import Built, Draw, EntryPoint, Parameter, Request, Sample, SampleValues, Sources, entry_points
from .timing import TimingConditions, TimingJob
from .value_errors import ValueOutOfBounds

if TYPE_CHECKING:
    from ..selection.kernel import Selection

__all__ = [
    "ABSENT",
    "MISSING",
    "OK",
    "Backend",
    "Built",
    "Draw",
    "EntryPoint",
    "Finding",
    "Parameter",
    "Reentrant",
    "Request",
    "Runnable",
    "Sample",
    "SampleValues",
    "Sources",
    "TimingConditions",
    "TimingJob",
    "ValueOutOfBounds",
    "VectorTarget",
    "backend",
    "backends",
    "entry_points",
    "find_backend",
    "flag",
    "length_names",
    "merge_flags",
]


class Runnable(Protocol):
    """A compiled network in this process. Only one thread at a time calls it."""

    def run(
        self, inputs: Sequence[Any], outputs: Sequence[Any], function: str = "", lengths: Sequence[int] = ()
    ) -> None:
        """Runs an entry point on contiguous numpy arrays, for lengths that the run decides, if its shapes have some. Raises ToolError
        if it reports an error."""


@runtime_checkable
class Reentrant(Protocol):
    """A compiled network that several threads run at once, each in a workspace of its own."""

    def workspace(self, arena_bytes: int) -> Any:
        """Memory for one run at a time, for a network whose arena has `arena_bytes`."""

    def run_in(
        self,
        workspace: Any,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        function: str,
        lengths: Sequence[int] = (),
        values: int = 0,
    ) -> None:
        """As `Runnable.run`, in a workspace; `function` is the entry point's `run_with`, and `values` the address of values of data types,
        if it takes some."""


@runtime_checkable
class ReentrantAtAnyLength(Reentrant, Protocol):
    """A compiled network whose workspace depends on lengths that nothing bounds."""

    def arena_size(self, function: str, lengths: Sequence[int]) -> int:
        """The bytes of workspace for these lengths, by the entry point's function for them. Raises ToolError for more than memory has."""


@runtime_checkable
class WithRegion(Reentrant, Protocol):
    """A compiled network that works on data or recursion in a region of its workspace."""

    def region_used(self, workspace: Any, begin: int) -> int:
        """The most bytes of the region, from `begin` on in the workspace, that the last run there used at one time."""


@runtime_checkable
class Stateful(Reentrant, Protocol):
    """A compiled network with states, in the memory of instances, which are given by their addresses."""

    def begin(self, instance: int) -> None:
        """Gives the states of an instance their first values."""

    def step_in(
        self,
        workspace: Any,
        instance: int,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        function: str,
        lengths: Sequence[int] = (),
        values: int = 0,
    ) -> None:
        """As `run_in`, for an instance."""

    def transfer_state(self, instance: int, saved: int = 0, restored: int = 0) -> bool:
        """Saves the states to an address, then takes them from another one, each unless it is 0. False for bytes that are no saved
        state of this network."""


def _any_result(b: Any, arguments: Sequence[Any], result: Any) -> str:
    """No complaint: results are checked where they are used."""
    return ""


def _no_sources(b: Any, arguments: Sequence[Any], result: Any) -> str:
    return "" if isinstance(result, Sources) else "returned something else than Sources"


def _no_machine(b: Any, arguments: Sequence[Any], result: Any) -> str:
    return "" if isinstance(result, VectorTarget) else "returned something else than a VectorTarget"


def _not_built(b: Any, arguments: Sequence[Any], result: Any) -> str:
    return "" if isinstance(result, Built) else "returned something else than Built"


OK, MISSING, ABSENT = "ok", "missing", "-"
"""States of a finding; the last is that of a missing part that is not needed."""


ASSEMBLY = "asm"
"""The output that is the text of the processor's instructions."""


@dataclass(frozen=True)
class Finding:
    """A part: its state (`ok`, `missing`, or `-` if it is missing and not needed), its name, its purpose, and how to get it."""

    part: str
    state: str
    what: str
    purpose: str
    help: str = ""
    is_needed: bool = False


class Backend(Plugin):
    """Base of all backends.

    Class attributes:
        emits: the outputs of a build, in the words of `--emit`; sources first. `tir` needs no backend and is not among them.
        endings: the file endings of outputs that are not the word of `--emit` itself; empty for an output without one.
        default_emit: the output unless one is given; empty for `so` if that is among `emits`, otherwise the first.
        target_kind: the kind of target that passes see: one of TVM's.
        name_rule: the rule for names of the output.
    """

    _kind = "backend"
    _checks = MappingProxyType(
        {
            "machine": _no_machine,
            "supports": _any_result,
            "emit": _no_sources,
            "build": _not_built,
            "load": _any_result,
            "identity": _any_result,
        }
    )
    emits: ClassVar[tuple[str, ...]] = ()
    endings: ClassVar[Mapping[str, str]] = MappingProxyType({"obj": "o", "mlf": "tar", "exe": "", ASSEMBLY: "s"})
    default_emit: ClassVar[str] = ""
    target_kind: ClassVar[str] = "c"
    name_rule: ClassVar[str] = "it must be letters, digits and underscores, and not begin with a digit"

    @classmethod
    def make(cls, *sources: Mapping[str, Any]) -> Backend:
        """An instance with the flags of several places. Raises UsageError for an unknown flag, for a value that a flag cannot
        have, and for different values of a flag."""
        known = {f.name: f for f in cls.fields()}
        hints = type_hints(cls)
        read: list[dict[str, Any]] = []
        for source in sources:
            for name in source:
                if name not in known:
                    have = f"it has {', '.join(known)}" if known else "it has none"
                    raise UsageError(
                        f"the backend {cls.name} has no flag {name} ({have})", help=nearest(name, [*known, *SIZES])
                    )
            read.append({n: read_flag(known[n], hints[n], v) for n, v in source.items()})
        return cls(**merge_flags(*read))

    def text(self) -> str:
        """`NAME{flag=value,…}` with the flags that are not at their defaults, as `--target` takes it."""
        options = [(f.name, getattr(self, f.name)) for f in self.fields() if getattr(self, f.name) != f.default]
        inside = ",".join(f"{n}={show_flag(v)}" for n, v in options)
        return f"{self.name}{{{inside}}}" if options else self.name

    def fit_name(self, text: str) -> str:
        """The nearest name to `text` that files and functions can have."""
        identifier = re.sub(r"[^A-Za-z0-9_]", "_", text) or "_"
        return f"v{identifier}" if identifier[0].isdigit() else identifier

    @classmethod
    def printed(cls) -> tuple[str, ...]:
        """The outputs that `-o -` prints: texts in one file."""
        return tuple(e for e in cls.emits if e in (cls.emits[0], ASSEMBLY))

    @classmethod
    def ending(cls, emit: str) -> str:
        """The ending of the file of an output: `so` of `net.so`."""
        return cls.endings.get(emit, emit)

    def check(self, entries: Sequence[str], emit: str) -> None:
        """Raises UsageError if the flags contradict each other, the entries, or the output."""

    @property
    def usual_emit(self) -> str:
        """The output of a build with these flags unless one is given; empty for that of the backend."""
        return ""

    @property
    def runs_program(self) -> bool:
        """True if a built program reads its inputs from raw files and writes its outputs to raw files."""
        return True

    @property
    def keeps_denormals(self) -> bool:
        """True if denormal constants are kept; otherwise builds replace them by zeros."""
        return True

    def identity(self) -> str:
        """A key of the tools that it uses in their current versions, for caches."""
        return ""

    def examine(self) -> Iterable[Finding]:
        """The tools that the backend finds on this machine, and their abilities."""
        return ()

    def features(self) -> Mapping[str, Callable[[], bool]]:
        """The properties of tools and processor that golden files may require (`// REQUIRES:`), each with a function that tells
        if it holds."""
        return {}

    def machine(self) -> VectorTarget:
        """The processor that schedules are built for: the width and number of vector registers."""
        return VectorTarget(0)

    def processors(self) -> Mapping[str, VectorTarget | None]:
        """The values of the flag `mcpu` that the tools here know, each with the core that schedules are for; None for code for several.
        Empty for a backend without that flag."""
        return {}

    def lesser_machines(self) -> Sequence[VectorTarget]:
        """Processors with less than `machine` for which the output has code as well, highest first: see `Program.lesser`."""
        return ()

    def stand_in(self) -> tuple[Backend, str] | None:
        """Another backend that builds the same library if tools of this one are missing, and a note on it; None if no backend
        does."""
        return None

    def fitted(self, emit: str) -> Backend:
        """The backend with the defaults that depend on the output."""
        return self

    def processor(self) -> str:
        """The name of the target processor in tables of measurements: its maker's name if it is this machine's."""
        return ""

    def processor_numbers(self) -> Mapping[str, str]:
        """Vendor, family and model of the target processor, as in Linux's /proc/cpuinfo; empty if unknown."""
        return {}

    def supports(self, program: Program) -> list[Diagnostic]:
        """Errors for the parts of a program, scheduled or not yet, that this backend has no code for; empty if it has code for
        all of it."""
        return []

    def selection(self, program: Program) -> Selection | None:
        """The forms that selection gives it, which `--emit=isel` prints; None if it prints scheduled nests itself."""
        return None

    def emit(self, program: Program, request: Request) -> Sources:
        """The sources. Raises IrError for a program that the backend cannot write, UsageError for contradicting flags."""
        raise NotImplementedError(f"the backend {self.name} writes nothing")

    def build(self, sources: Sources, request: Request, folder: Path) -> Built:
        """Compiles the sources of `emit`, in an empty folder, to the requested output. Raises ToolError."""
        return Built()

    def timing(self, program: Program, conditions: TimingConditions) -> TimingJob | None:
        """The job that measures the entry of a program; None if this backend has no timing, and cannot be tuned."""
        return None

    @classmethod
    def load(cls, library: Path, name: str, weights: Path | None) -> Runnable:
        """Loads the library that `build` returned, for `Artifact.run`. Threads run it side by side if it is `Reentrant`,
        otherwise one after the other. Raises ToolError."""
        from .library import Library

        return Library(library, name, weights)

    @classmethod
    def is_plain(cls, library: Path) -> bool:
        """True if `load` opens the library as any shared library with the functions of a network."""
        return cls.load.__func__ is Backend.load.__func__  # type: ignore[attr-defined]  # class methods have it


backends: Registry[type[Backend]] = Registry("backend", "irtool.backends")
"""Every backend by name."""

B = TypeVar("B", bound=type[Backend])


def _check_own(cls: type) -> None:
    """Raises PluginError for a class from outside that is no backend, or lacks a member of every backend."""
    if not issubclass(cls, Backend):
        raise refuse(cls, "the class is no backend", help="derive it from irtool.backends.base.Backend")
    if not cls.emits:
        raise refuse(
            cls, "the backend has no outputs", help='say how far a build goes, sources first: emits = ("c", "so")'
        )
    if cls.emit is Backend.emit:
        raise refuse(cls, "the backend has no emit", help="define emit(self, program, request), which returns Sources")


def backend(name: str, *aliases: str, override: bool = False) -> Callable[[B], B]:
    """Class decorator that registers a backend under the name that `--target` takes. See `plugin.Registry.register`."""

    def register(cls: B) -> B:
        if is_outside(cls):
            adopt(cls, "backend", name)
            _check_own(cls)
        check_dataclass(cls, f'@backend("{name}")')
        backends.register(name, *aliases, override=override)(cls)
        return cls

    return register


def find_backend(name: str) -> type[Backend]:
    """The backend of that name. Raises UsageError, naming the known ones, for an unknown name."""
    backend = backends.find(name)
    if backend is None:
        names = backends.names()
        have = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)
        hint = nearest(name, names)
        listing = f"the backends are {have}"
        raise UsageError(f"unknown backend {name}", help=f"{hint} {listing}" if hint else listing)
    return backend
