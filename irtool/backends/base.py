"""The base class of backends: a frozen dataclass whose fields are its flags.

A backend takes a scheduled program, its memory planned (`tir.program`), to files, and these to something that runs. It is
found by its name, which is what `--target` says::

    @backend("c")
    @dataclass(frozen=True)
    class C(Backend):
        '''Portable C99 …'''

        math: str = flag("fast", "own vectorized exp, tanh …, or those of libm", choices=("fast", "strict"))

`--target='c{math=strict}'` and `--math=strict` set the same field. `driver/` sees nothing of backends but what is here.
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
from .sources import Built, Draw, EntryPoint, Parameter, Request, Sample, Sources, entry_points
from .timing import TimingConditions, TimingJob

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
    "Sources",
    "TimingConditions",
    "TimingJob",
    "VectorTarget",
    "backend",
    "backends",
    "entry_points",
    "find_backend",
    "flag",
    "merge_flags",
]


class Runnable(Protocol):
    """A compiled network in this process. Only one thread at a time calls it."""

    def run(self, inputs: Sequence[Any], outputs: Sequence[Any], function: str = "") -> None:
        """Runs an entry point on contiguous numpy arrays; raises ToolError where it reports an error."""


@runtime_checkable
class Reentrant(Protocol):
    """A compiled network that several threads run at once, each in a workspace of its own."""

    def workspace(self, arena_bytes: int) -> Any:
        """Memory for one run at a time, of a network whose arena has so many bytes."""

    def run_in(self, workspace: Any, inputs: Sequence[Any], outputs: Sequence[Any], function: str) -> None:
        """As `Runnable.run`, in a workspace; `function` is the entry point's `run_with`."""


def _any_result(b: Any, arguments: Sequence[Any], result: Any) -> str:
    """Results are judged where they are used."""
    return ""


def _no_sources(b: Any, arguments: Sequence[Any], result: Any) -> str:
    return "" if isinstance(result, Sources) else "returned something else than Sources"


def _no_machine(b: Any, arguments: Sequence[Any], result: Any) -> str:
    return "" if isinstance(result, VectorTarget) else "returned something else than a VectorTarget"


def _not_built(b: Any, arguments: Sequence[Any], result: Any) -> str:
    return "" if isinstance(result, Built) else "returned something else than Built"


OK, MISSING, ABSENT = "ok", "missing", "-"
"""States of a finding; the last is of what is not there and not needed."""


@dataclass(frozen=True)
class Finding:
    """A part: its state (`ok`, `missing`, or `-` where it is not there and not needed), which one it is, what it is for, and how to
    get it."""

    part: str
    state: str
    what: str
    purpose: str
    help: str = ""
    is_needed: bool = False


class Backend(Plugin):
    """Base of all backends.

    Class attributes:
        emits: how far a build can go, in the words of `--emit`; sources first. `tir` needs no backend and is not among them.
        endings: of the file of an output, where that is not the word of `--emit` itself; empty for a file without one.
        default_emit: how far it goes unless it is said; empty for `so` where that is among them, else the first.
        target_kind: the kind of target that passes are told of: one of TVM's.
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
    endings: ClassVar[Mapping[str, str]] = MappingProxyType({"obj": "o", "mlf": "tar", "exe": ""})
    default_emit: ClassVar[str] = ""
    target_kind: ClassVar[str] = "c"
    name_rule: ClassVar[str] = "it must be letters, digits and underscores, and not begin with a digit"

    @classmethod
    def make(cls, *sources: Mapping[str, Any]) -> Backend:
        """An instance with the flags of several places. Raises UsageError for an unknown flag, for a value that it cannot
        have, and for one that two places give different values."""
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
        """The nearest to `text` that files and functions may be called."""
        identifier = re.sub(r"[^A-Za-z0-9_]", "_", text) or "_"
        return f"v{identifier}" if identifier[0].isdigit() else identifier

    @classmethod
    def ending(cls, emit: str) -> str:
        """The ending of the file of an output: `so` of `net.so`."""
        return cls.endings.get(emit, emit)

    def check(self, entries: Sequence[str], emit: str) -> None:
        """Raises UsageError if the flags do not go with each other, with so many entries, or with how far to go."""

    @property
    def runs_program(self) -> bool:
        """True if a program that it builds reads the inputs from raw files and writes the outputs to such."""
        return True

    @property
    def keeps_denormals(self) -> bool:
        """True if denormal constants are kept; otherwise builds replace them by zeros."""
        return True

    def identity(self) -> str:
        """What tells the tools that it uses, as they are now, from others: for keys of caches."""
        return ""

    def examine(self) -> Iterable[Finding]:
        """The tools that it finds here, and their abilities."""
        return ()

    def features(self) -> Mapping[str, Callable[[], bool]]:
        """What golden files may require of tools and processor (`// REQUIRES:`), each with what tells whether it is here."""
        return {}

    def machine(self) -> VectorTarget:
        """What schedules are made for: the width and number of vector registers."""
        return VectorTarget(0)

    def lesser_machines(self) -> Sequence[VectorTarget]:
        """Processors with less than `machine` for which the output has code as well, highest first: see `Program.lesser`."""
        return ()

    def stand_in(self) -> tuple[Backend, str] | None:
        """Another backend that builds the same library where what this one needs is not here, and a note on it; None if
        nothing stands in."""
        return None

    def fitted(self, emit: str) -> Backend:
        """The backend with the defaults that depend on how far a build goes."""
        return self

    def processor(self) -> str:
        """What measurements are filed under: the processor that code is made for, by its maker's name where it is this one."""
        return ""

    def processor_numbers(self) -> Mapping[str, str]:
        """Vendor, family and model of the processor that code is made for, as Linux has them in /proc/cpuinfo; empty if unknown."""
        return {}

    def supports(self, program: Program) -> list[Diagnostic]:
        """What of a program, scheduled or not yet, this backend has no code for; empty if there is code for all of it."""
        return []

    def selection(self, program: Program) -> Selection | None:
        """The forms that selection gives it, which `--emit=isel` prints; None if it prints scheduled nests itself."""
        return None

    def emit(self, program: Program, request: Request) -> Sources:
        """The sources. Raises IrError for a program that cannot be written, UsageError for flags that do not go together."""
        raise NotImplementedError(f"the backend {self.name} writes nothing")

    def build(self, sources: Sources, request: Request, folder: Path) -> Built:
        """Compiles the sources of `emit`, in an empty folder, as far as the request says. Raises ToolError."""
        return Built()

    def timing(self, program: Program, conditions: TimingConditions) -> TimingJob | None:
        """The job that measures the entry of a program; None if this backend has no such thing, and nothing can be tuned for it."""
        return None

    @classmethod
    def load(cls, library: Path, name: str, weights: Path | None) -> Runnable:
        """Loads what `build` called the library, for `Artifact.run`. Threads run it side by side if it is `Reentrant`, else one
        after the other. Raises ToolError."""
        from .library import Library

        return Library(library, name, weights)


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
    """Class decorator that registers a backend under the name that `--target` says. See `plugin.Registry.register`."""

    def register(cls: B) -> B:
        if is_outside(cls):
            adopt(cls, "backend", name)
            _check_own(cls)
        check_dataclass(cls, f'@backend("{name}")')
        backends.register(name, *aliases, override=override)(cls)
        return cls

    return register


def find_backend(name: str) -> type[Backend]:
    """The backend of that name. Raises UsageError, naming those there are, if there is none."""
    backend = backends.find(name)
    if backend is None:
        names = backends.names()
        have = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)
        hint = nearest(name, names)
        listing = f"the backends are {have}"
        raise UsageError(f"there is no backend {name}", help=f"{hint} {listing}" if hint else listing)
    return backend
