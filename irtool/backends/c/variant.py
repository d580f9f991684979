"""A program as it is written for one level of processors: its functions, its kernels, and the tools of vectors that they call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ...tir.kernel import Kernel
from ...tir.program import Program
from ..formulas import vector_math
from ..toolchain.levels import CLOSE_LEVEL, Level, open_level
from .nest import KernelText, KernelWriter


@dataclass(frozen=True)
class KernelSource:
    """A kernel in C behind its comment."""

    about: str
    text: KernelText

    def define(self, linkage: str = "static") -> str:
        """The function behind its comment."""
        return f"{self.about}\n{self.text.define(linkage)}"


@dataclass
class Variant:
    """A program and its text.

    Attributes:
        level: what it is made for; None where the library has no levels.
        suffix: what names of its functions end in; empty for the lowest level.
        functions: names in C.
        writers: of its kernels, in order.
    """

    program: Program
    level: Level | None
    suffix: str
    functions: dict[str, str]
    writers: dict[Kernel, KernelWriter] = field(default_factory=dict)
    kernels: list[KernelSource] = field(default_factory=list)

    def add(self, kernel: Kernel, writer: KernelWriter, about: str) -> None:
        """Writes one more kernel."""
        self.writers[kernel] = writer
        self.kernels.append(KernelSource(about, writer.write()))

    def kernel(self, kernel: Kernel) -> tuple[str, bool]:
        """The name of a kernel in C, and whether it is handed scratch memory."""
        writer = self.writers[kernel]
        return writer.name, writer.has_workspace

    def is_shared(self, kernel: Kernel) -> bool:
        """True if all threads of a team run the kernel."""
        return self.writers[kernel].in_team

    @property
    def vector_types(self) -> dict[tuple[str, int], None]:
        """The vector types that the kernels use."""
        return {t: None for w in self.writers.values() for t in w.vector_types}

    @property
    def vector_functions(self) -> dict[tuple[str, str, int], None]:
        """The functions on vectors that the kernels call."""
        return {f: None for w in self.writers.values() for f in w.vector_functions}


def section(variant: Variant, kernels: Sequence[KernelSource], linkage: str = "static") -> list[str]:
    """Kernels of a variant: those of a level above the lowest behind their own functions on vectors, between its pragmas.

    A function is compiled for the instructions that are allowed where it stands, so that each level has its own, by a name of its
    own that macros give it.
    """
    if not variant.suffix:
        return [k.define(linkage) for k in kernels]
    if not kernels:
        return []
    assert variant.level is not None
    made: dict[tuple[str, str, int], str] = {}
    for name, dtype, lanes in variant.vector_functions:
        made.update(vector_math.define(name, dtype, lanes))
    names = [vector_math.c_name(*key) for key in made]
    lines = [
        *(f"#define {n} {n}{variant.suffix}" for n in names),
        *made.values(),
        "",
        *(k.define(linkage) for k in kernels),
        *(f"#undef {n}" for n in names),
    ]
    return ["#if IRT_LEVELS", *open_level(variant.level), *lines, *CLOSE_LEVEL, "#endif", ""]
