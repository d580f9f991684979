"""The banner of generated files: the tool, the target, the compiler's command and the licence."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from ..toolchain.compiler import Compiler

LICENCE = "This file belongs to whoever had it made: irtool claims no rights in it."


@dataclass(frozen=True)
class Origin:
    """The tool and the target of a build.

    Attributes:
        version: irtool's.
        processor: the target, as in `x86_64, x86-64-v4`; empty if unknown.
        vector_bits: width of the vectors in the code, 0 for scalar code.
        threads: true if OpenMP threads share the loops.
        compiler, flags: the compiler's command.
        extra_sources: further sources of the library.
        levels: levels of processors with the bits of their vectors, if the code is for several.
    """

    version: str
    processor: str
    vector_bits: int
    threads: bool
    compiler: tuple[str, ...]
    flags: tuple[str, ...]
    extra_sources: tuple[str, ...] = ()
    levels: tuple[tuple[str, int], ...] = ()

    @classmethod
    def of(
        cls,
        compiler: Compiler,
        version: str,
        vector_bits: int,
        further_files: Sequence[str] = (),
        levels: Sequence[tuple[str, int]] = (),
    ) -> Origin:
        """The origin of code for a compiler with the options of this build."""
        command, flags = tuple(compiler.command), tuple(compiler.flags)
        processor = compiler.target.split("-")[0] if levels else compiler.processor
        return cls(
            version, processor, vector_bits, compiler.openmp, command, flags, tuple(further_files), tuple(levels)
        )

    def compile_line(self, sources: Sequence[str]) -> str:
        """The command that compiles the sources to object files, for a shell."""
        return shlex.join([*self.compiler, *self.flags, "-c", *sources])

    @property
    def libraries(self) -> list[str]:
        """The libraries that a program is linked with."""
        return [*(["-fopenmp"] if self.threads else []), "-lm"]

    def lines(self, sources: Sequence[str]) -> list[str]:
        """The banner, without the marks of a comment. It contains no times and no folders: the same build has the same text."""
        vectors = f"vectors of {self.vector_bits} bits" if self.vector_bits else "no vectors"
        processor = self.processor or "any processor"
        if len(self.levels) > 1:
            processor = f"{processor}, {', '.join(name for name, _ in self.levels)}, chosen where it runs"
            widths = dict.fromkeys(str(bits) for _, bits in self.levels)
            vectors = f"vectors of {', '.join(widths)} bits"
        made_for = "; ".join([processor, vectors, "OpenMP" if self.threads else "one thread"])
        line = shlex.join([*map(without_folder, (*self.compiler, *self.flags)), "-c", *sources])
        return [
            f"Written by irtool {self.version} for {made_for}.",
            f"Compile: {line}",
            f"Link:    {' '.join(self.libraries)}",
            LICENCE,
        ]


def without_folder(word: str) -> str:
    """A word of a command line with `...` for the folders of an absolute path: `-I/home/me/include` ⇒ `-I.../include`."""
    return re.sub(r"^(-[ILBF]|[^/]*[=\"',:]|)/(?:[^/=,:]*/)*", r"\1.../", word) if word.strip("/") else word
