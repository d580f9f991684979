"""The LLVM backend as a plug-in: its flags, its files, and their compiler."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ... import __version__
from ...diagnostics import ToolError, UsageError
from ...selection.kernel import Selection
from ...tir.program import Program
from ..base import (
    ABSENT,
    ASSEMBLY,
    OK,
    Backend,
    Built,
    Finding,
    Request,
    Runnable,
    Sources,
    VectorTarget,
    backend,
    find_backend,
    flag,
)
from ..fast_products import (
    check_products,
    opt_flag,
    stores_plain,
    strassen_flag,
    winograd_flag,
    with_products,
)
from ..interface.memory import REGION_SIZE, check_region_size
from ..interface.names import Identifiers
from ..toolchain.compiler import Compiler, split_words
from ..toolchain.described import described_machine, instruction_sets
from .nest import select_for_llvm
from .program import LlvmOptions, ProgramWriter
from .tools import NEITHER, Clang, InProcess, ObjectLibrary, has_llvmlite, how_to_get_one, linker

_NARROW = ("i386", "i486", "i586", "i686", "arm", "thumb", "riscv32", "mips-", "mipsel", "ppc-", "powerpc-", "wasm32")


@backend("llvm")
@dataclass(frozen=True)
class Llvm(Backend):
    """LLVM IR text of the same loop nests as C, compiled by clang, or by llvmlite without a compiler.

    It writes `NAME.ll` for LLVM 15 or later, and `NAME.h` with the same functions as the C backend. Threads, sanitizers and
    programs are not supported: `--emit=obj` makes an object file to link with a C program. Without a linker for shared
    libraries, the output is `NAME.o` instead, which `irtool.load` loads with llvmlite.
    """

    emits = ("ll", "asm", "obj", "so")
    name_rule = "it must be a C identifier, and not a word of C"
    target_kind = "llvm"

    math: str = flag("fast", "own vectorized exp, tanh, erf … (4 ULP), or those of libm", ("fast", "strict"))
    vector: str = flag("auto", "vectors, or scalar code only", ("auto", "none"))
    mcpu: str = flag("native", "processor, by LLVM's name; `none`: the baseline of the architecture")
    opt: str = opt_flag()
    winograd: str = winograd_flag()
    strassen: str = strassen_flag()
    mtriple: str = flag("", "target triple, such as aarch64-linux-gnu; default: this machine")
    mattr: str = flag("", "features of the processor, such as +neon,+dotprod")
    region_size: str = flag("", REGION_SIZE)
    weights: str = flag(
        "auto",
        "place of weights: NAME.ll or NAME.bin; auto: by size",
        ("auto", "inline", "file"),
    )
    verify_weights: bool = flag(True, "verify the digest of NAME.bin on loading")
    cc: str = flag("", "clang 15 or later; default: $CC if it is clang, else clang, else llvmlite")
    cflags: str = flag("", "additional flags for clang")

    def fit_name(self, text: str) -> str:
        return Identifiers().fresh(text)

    def check(self, entries: Sequence[str], emit: str) -> None:
        split_words(self.cflags, "the compiler's flags")
        check_region_size(self.region_size)
        check_products(self.winograd, self.strassen, self.math)
        if self.mtriple.startswith(_NARROW):
            raise UsageError(f"the LLVM backend supports 64-bit processors only; {self.mtriple} is not one")
        if self.mattr and any(not w.startswith(("+", "-")) for w in self.mattr.split(",")):
            raise UsageError(f"mattr={self.mattr!r} is not a list like +neon,-dotprod")

    @property
    def keeps_denormals(self) -> bool:
        return self.math == "strict"

    @property
    def clang(self) -> Clang | None:
        """The clang of this build, if there is one."""
        return Clang.find(self.cc, self.mcpu, self.mtriple, self.math == "strict", self.cflags)

    def stand_in(self) -> tuple[Backend, str] | None:
        """C, for a library without LLVM's names, if this machine has a C compiler, and neither clang nor llvmlite."""
        names_tools = bool(self.cc or self.cflags or self.mtriple or self.mattr) or self.mcpu not in ("native", "none")
        if names_tools or self.clang is not None or has_llvmlite() or not Compiler().is_there:
            return None
        shared = ("math", "vector", "mcpu", "opt", "winograd", "strassen", "weights", "verify_weights")
        return find_backend("c").make({n: getattr(self, n) for n in shared}), f"note: built through C: {NEITHER}"

    def identity(self) -> str:
        clang = self.clang
        if clang is not None:
            return clang.compiler.identity
        here = described_machine() if self.mcpu == "native" else None
        return f"llvmlite {has_llvmlite()} {linker()} {here or ''}"

    def examine(self) -> Iterator[Finding]:
        from ..toolchain.examination import first_line

        clang = shutil.which("clang")
        version = first_line([clang, "--version"]) if clang else ""
        yield Finding("clang", OK if clang else ABSENT, version, "the backend llvm")

    def machine(self) -> VectorTarget:
        if self.vector == "none":
            return VectorTarget(0)
        return with_products(self._processor(), self.winograd, self.strassen, self.math, self.opt)

    def _processor(self) -> VectorTarget:
        clang = self.clang
        if clang is not None:
            return clang.machine()
        return InProcess(self.mcpu, self.mtriple, self.mattr).machine() if has_llvmlite() else VectorTarget(16, 16)

    @property
    def _attributes(self) -> str:
        named = self.mcpu not in ("", "none", "native")
        attributes = [f'"target-cpu"="{self.mcpu}"'] if named else []
        return " ".join([*attributes, *([f'"target-features"="{self.mattr}"'] if self.mattr else [])])

    @property
    def _macros(self) -> str:
        """The macros of a C compiler for the processor, each between spaces; empty if the features are removed."""
        features = [w for w in self.mattr.split(",") if w]
        if self.vector == "none" or any(w.startswith("-") for w in features):
            return ""
        clang = self.clang
        if clang is not None:
            macros = clang.macros
        else:
            macros = InProcess(self.mcpu, self.mtriple, self.mattr).macros if has_llvmlite() else ""
        added = [s.macro for s in instruction_sets().values() if f"+{s.option}" in features]
        return f" {macros} {' '.join(added)} "

    def selection(self, program: Program) -> Selection:
        return select_for_llvm(self.math == "strict")

    def emit(self, program: Program, request: Request) -> Sources:
        name, clang = request.name, self.clang
        width = 8 * self.machine().vector_bytes
        vectors = f"vectors of {width} bits" if width else "no vectors"
        command = [*(clang.compiler.command if clang else ["clang"]), *(clang.flags if clang else ["-O3", "-fPIC"])]
        line = shlex.join([*command, "-c", f"{name}.ll"])
        made_for = (
            ", ".join(filter(None, [self.mtriple, "" if self.mcpu == "native" else self.mcpu])) or "this processor"
        )
        banner = [f"Written by irtool {__version__} for {made_for}; {vectors}."]
        options = LlvmOptions(
            keep=self.weights,
            strict=self.math == "strict",
            verified=self.verify_weights,
            triple=self.mtriple,
            attributes=self._attributes,
            banner=banner,
            macros=self._macros,
            region_size=int(self.region_size or 0),
            expands=stores_plain(self.opt),
        )
        text = ProgramWriter(program, name, options).write(request.folder)
        files: dict[str, list[Any] | Path] = {f"{name}.h": [text.header.encode()], f"{name}.ll": [text.source.encode()]}
        if text.weights:
            files[f"{name}.bin"] = text.weights
        return Sources(
            files,
            text.entries,
            text.arena_bytes,
            text.identifiers,
            text.kernel_names,
            f"{name}.bin" if text.weights else "",
            {
                "opt": self.opt,
                "stored_weight_bytes": text.stored_bytes,
                "compile": line,
                "stack_bytes": text.stack_bytes,
                "region_bytes": text.region_bytes,
                "region_begin": text.arena_bytes - text.region_bytes if text.region_bytes else 0,
            },
        )

    def build(self, sources: Sources, request: Request, folder: Path) -> Built:
        if request.emit == "ll":
            return Built()
        name, clang = request.name, self.clang
        is_text = request.emit == ASSEMBLY
        source, compiled = f"{name}.ll", f"{name}.s" if is_text else f"{name}.o"
        (folder / source).write_bytes(b"".join(sources.buffers(source)))
        if clang is not None:
            clang.compile(source, compiled, folder, "-S" if is_text else "-c")
        elif has_llvmlite():
            text = (folder / source).read_text(encoding="utf-8")
            InProcess(self.mcpu, self.mtriple, self.mattr).compile(
                text, folder / compiled, self.math == "strict", is_text
            )
        else:
            raise ToolError(NEITHER, help=how_to_get_one())
        if request.emit in ("obj", ASSEMBLY):
            return Built({compiled: folder / compiled})
        library = f"{name}.so"
        if clang is not None:
            clang.link(compiled, library, folder)
        elif self.mtriple or not _link(compiled, library, folder):
            why = "it is for another machine" if self.mtriple else "nothing here links shared libraries"
            note = f"note: {compiled} instead of {library}: {why}; irtool.load loads it with llvmlite"
            return Built({compiled: folder / compiled}, compiled, notes=(note,))
        return Built({library: folder / library}, library)

    @classmethod
    def load(cls, library: Path, name: str, weights: Path | None) -> Runnable:
        if library.suffix == ".o":
            return ObjectLibrary(library, name, weights)
        return super().load(library, name, weights)

    @classmethod
    def is_plain(cls, library: Path) -> bool:
        return library.suffix != ".o"


def _link(source: str, target: str, folder: Path) -> bool:
    """Links a shared library with this machine's tools; False without a tool, or if linking fails."""
    command = linker()
    if not command:
        return False
    done = subprocess.run([*command, "-o", target, source, "-lm"], cwd=folder, capture_output=True, check=False)
    return done.returncode == 0
