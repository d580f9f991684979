"""The text of a program for one level of processors: its functions, its kernels, and the functions on vectors that they call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ...tir.kernel import Kernel
from ...tir.program import Place, Program
from ...tir.symbols import symbols_of_program
from ..formulas import vector_math
from ..formulas.support import Helper
from ..toolchain.levels import CLOSE_LEVEL, ProcessorLevel, open_level
from .line_directives import point_at
from .nest import KernelText, KernelWriter
from .team import write_task


@dataclass(frozen=True)
class KernelSource:
    """A kernel in C after its comment, and its requirements: vector types, functions on vectors, support functions. Its lines seem to be at
    `place`, if there is one."""

    about: str
    text: KernelText
    types: Iterable[tuple[str, int]] = ()
    functions: Iterable[tuple[str, str, int]] = ()
    support: Iterable[Helper] = ()
    place: Place | None = None

    def define(self, linkage: str = "static") -> str:
        """The function behind its comment."""
        lines = point_at(self.place, self.text.define(linkage).split("\n"))
        return "\n".join([self.about, *lines])


@dataclass(eq=False)
class Variant:
    """A program and its text.

    Attributes:
        level: its processor level; None if the library has no levels.
        suffix: the suffix of its functions' names; empty for the lowest level.
        functions: names in C.
        writers: the writers of its kernels, in order.
        tasks: names in C of the functions that run kernels with shared loops as tasks of a team.
    """

    program: Program
    level: ProcessorLevel | None
    suffix: str
    functions: dict[str, str]
    writers: dict[Kernel, KernelWriter] = field(default_factory=dict)
    tasks: dict[Kernel, str] = field(default_factory=dict)
    kernels: list[KernelSource] = field(default_factory=list)

    # All functions are asked once, not for each of them.

    @cached_property
    def symbols(self) -> list[str]:
        """The names of the program's lengths."""
        return [s.name for s in symbols_of_program(self.program)]

    @cached_property
    def uses_region(self) -> bool:
        """True if functions work on a region."""
        return self.program.uses_region

    @cached_property
    def writes_handles(self) -> bool:
        """True if older objects of the region may come to lead to newer ones."""
        return self.program.writes_handles

    def add(self, kernel: Kernel, writer: KernelWriter, about: str, place: Place | None = None) -> KernelSource:
        """Writes a kernel, whose lines seem to be at a place."""
        self.writers[kernel] = writer
        text = writer.write()
        source = KernelSource(about, text, writer.vector_types, writer.vector_functions, writer.support, place)
        self.kernels.append(source)
        return source

    def kernel(self, kernel: Kernel) -> tuple[str, bool, list[str]]:
        """The name of a kernel in C, whether it is handed scratch memory, and the symbols that it is handed."""
        writer = self.writers[kernel]
        return writer.name, writer.has_workspace, writer.symbols

    def write_tasks(self) -> list[str]:
        """The functions that run kernels as tasks."""
        writers = {name: self.writers[k] for k, name in self.tasks.items()}
        return [write_task(name, w.name, w.operand_types, len(w.symbols)) for name, w in writers.items()]

    @property
    def vector_types(self) -> dict[tuple[str, int], None]:
        """The vector types that the kernels use."""
        return {t: None for k in self.kernels for t in k.types}


def section(variant: Variant, kernels: Sequence[KernelSource], linkage: str = "static") -> list[str]:
    """Kernels of a variant: those of a level above the lowest behind their own functions on vectors, between its pragmas.

    A function is compiled for the instructions that are allowed at its position, so that each level has its own functions, which
    macros rename.
    """
    if not variant.suffix:
        return [k.define(linkage) for k in kernels]
    if not kernels:
        return []
    assert variant.level is not None
    definitions: dict[tuple[str, str, int], str] = {}
    for name, dtype, lanes in {f: None for k in kernels for f in k.functions}:
        definitions.update(vector_math.define(name, dtype, lanes))
    names = [vector_math.c_name(*key) for key in definitions]
    lines = [
        *(f"#define {n} {n}{variant.suffix}" for n in names),
        *definitions.values(),
        "",
        *(k.define(linkage) for k in kernels),
        *(f"#undef {n}" for n in names),
    ]
    return ["#if IRT_LEVELS", *open_level(variant.level), *lines, *CLOSE_LEVEL, "#endif", ""]
