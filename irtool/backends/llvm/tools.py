"""The compilers of LLVM IR text (clang, or llvmlite in this process), and the linker."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from ...diagnostics import ToolError, UsageError
from ...extras import install_line
from ...tir.vector_target import VectorTarget
from ..library import CompiledFunctions
from ..toolchain.caches import cache_sizes
from ..toolchain.compiler import Compiler, read_macros, split_words, vectors_of
from ..toolchain.described import ALWAYS, MACHINES, described_machine, instruction_sets, read_description
from .names import check_names

OLDEST = 15
"""The first clang with reliable opaque pointers: 14 crashes on loops."""

NEITHER = f"LLVM IR is compiled by clang {OLDEST} or later, or by the Python package llvmlite, and neither is here"


def how_to_get_one() -> str:
    """The help for a machine with neither."""
    return f"install clang, name it with --cc, or build with --target=c; or {install_line('llvm')}"


_LEVELS = {"x86-64-v3": MACHINES["haswell"], "x86-64-v4": MACHINES["skylake"]}
"""Machines with the instruction sets of a level, by its name."""


def _without_tiles(machine: VectorTarget) -> VectorTarget:
    """The machine without matrix tiles, for which the backend has no LLVM IR."""
    return replace(machine, byte_tiles=1, pair_tiles=1)


def has_llvmlite() -> bool:
    """True if llvmlite can be imported."""
    import importlib.util

    return importlib.util.find_spec("llvmlite") is not None


@dataclass(frozen=True)
class Clang:
    """clang as a compiler of `.ll` files."""

    compiler: Compiler
    triple: str

    @classmethod
    def find(cls, cc: str, mcpu: str, triple: str, strict: bool, cflags: str) -> Clang | None:
        """The given clang, that of CC, or one on the PATH: `clang` before `clang-19` and others with a version, newest first;
        None without one that is new enough.

        Raises UsageError for a command that is not clang, or is too old.
        """
        more = [*([f"--target={triple}"] if triple else []), *split_words(cflags, "the compiler's flags")]
        compiler = Compiler(cc, mcpu, False, strict, tuple(more))
        if cc:
            version = _version(tuple(compiler.command))
            if shutil.which(compiler.command[0]) is not None and version < OLDEST:
                what = f"clang {version}" if version else "not clang"
                raise UsageError(f"{cc} is {what}: LLVM IR is compiled by clang {OLDEST} or later")
            return cls(compiler, triple)
        for name in filter(None, (os.environ.get("CC", ""), "clang", *_versioned(os.environ.get("PATH", os.defpath)))):
            candidate = Compiler(name, mcpu, False, strict, tuple(more))
            if shutil.which(candidate.command[0]) is not None and _version(tuple(candidate.command)) >= OLDEST:
                return cls(candidate, triple)
        return None

    @property
    def flags(self) -> list[str]:
        """The flags for a `.ll` file."""
        more = [f for f in self.compiler.more if not f.startswith("--target=")]
        cross = [f"--target={self.triple}"] if self.triple else []
        return ["-O3", "-fPIC", *cross, *self.compiler.processor_flags, "-Wno-override-module", *more]

    @property
    def macros(self) -> str:
        """The macros that it defines for C, each between spaces."""
        return read_macros((*self.compiler.command, *self.flags))[0]

    def machine(self) -> VectorTarget:
        return _without_tiles(self.compiler.machine())

    def compile(self, source: str, target: str, folder: Path, kind: str = "-c") -> None:
        """Compiles a `.ll` file to an object file, or with `-S` to assembly. Raises ToolError."""
        self.compiler.run([*self.flags, kind, "-o", target, source], folder)

    def link(self, source: str, target: str, folder: Path) -> None:
        """Links an object file to a shared library. Raises ToolError."""
        cross = [f"--target={self.triple}"] if self.triple else []
        self.compiler.run(["-shared", *cross, "-o", target, source, "-lm"], folder)


@cache
def _versioned(path: str) -> tuple[str, ...]:
    """The clangs on a PATH with a version in their names, as distributions install several: newest first."""
    versions: set[int] = set()
    for folder in path.split(os.pathsep):
        with suppress(OSError):
            versions |= {int(m[1]) for name in os.listdir(folder or ".") if (m := re.fullmatch(r"clang-(\d+)", name))}
    return tuple(f"clang-{n}" for n in sorted(versions, reverse=True) if n >= OLDEST)


def _version(command: tuple[str, ...]) -> int:
    """The major version of a clang; 0 for other commands."""
    match = re.search(r"#define __clang_major__ (\d+)", read_macros(command)[0])
    return int(match[1]) if match else 0


class InProcess:
    """llvmlite as a compiler. Raises ToolError if it cannot be loaded, UsageError for a triple, a processor or a feature that it
    does not know."""

    def __init__(self, mcpu: str, triple: str, attributes: str = "") -> None:
        try:
            import llvmlite.binding as llvm
        except (ImportError, OSError) as error:
            raise ToolError(f"llvmlite cannot be loaded: {error}", help=how_to_get_one()) from None
        self.llvm: Any = llvm
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        # LLVM writes some instructions of AVX-512 as inline assembly, and aborts the process without a parser.
        llvm.initialize_native_asmparser()
        self.triple = triple or llvm.get_process_triple()
        self.is_native = not triple or triple.split("-")[0] == llvm.get_process_triple().split("-")[0]
        self.is_host = mcpu == "native" and self.is_native
        self.described = described_machine() if self.is_host else None
        self.cpu = llvm.get_host_cpu_name() if self.is_host else "" if mcpu in ("native", "none", "") else mcpu
        self.features = llvm.get_host_cpu_features().flatten() if self.is_host else attributes
        if self.described is not None:  # builds must run here too
            self.cpu, self.features = "", self.described.features(self.triple.split("-")[0].replace("arm64", "aarch64"))
        if triple or attributes or (not self.is_host and self.cpu not in ("", *_LEVELS)):
            check_names(self.triple, self.cpu, attributes)

    @property
    def macros(self) -> str:
        """The macros of a C compiler with the given features, each between spaces; named processors have more."""
        if self.cpu in _LEVELS:
            return read_description(_LEVELS[self.cpu]).macros
        features = self.features.split(",")
        architecture = self.triple.split("-")[0].replace("arm64", "aarch64")
        sets = [s for s in instruction_sets().values() if s.architecture == architecture and f"+{s.option}" in features]
        return f" {' '.join((*ALWAYS.get(architecture, ()), *(s.macro for s in sets)))} "

    def machine(self) -> VectorTarget:
        """The width and number of vector registers, from the processor's features, and its caches."""
        if self.described is not None:
            return _without_tiles(vectors_of(self.described.macros).resized(dict(self.described.sizes)))
        sizes = cache_sizes("native" if self.is_host else self.cpu)
        return _without_tiles(vectors_of(self.macros).resized(sizes))

    def compile(self, text: str, target: Path, strict: bool, is_text: bool = False) -> None:
        """Compiles LLVM IR text to an object file, or to assembly if `is_text`. Raises ToolError."""
        llvm = self.llvm
        try:
            module = llvm.parse_assembly(text)
            module.verify()
            kind = llvm.Target.from_triple(self.triple)
            machine = kind.create_target_machine(self.cpu, self.features, opt=3, reloc="pic", codemodel="default")
            module.triple = self.triple
            module.data_layout = str(machine.target_data)
            options = llvm.create_pipeline_tuning_options(speed_level=3)
            builder = llvm.create_pass_builder(machine, options)
            builder.getModulePassManager().run(module, builder)
            if is_text:
                target.write_text(machine.emit_assembly(module), encoding="utf-8")
            else:
                target.write_bytes(machine.emit_object(module))
        except RuntimeError as error:
            raise ToolError(f"llvmlite cannot compile the program: {str(error).strip()[:4000]}") from None


class ObjectLibrary(CompiledFunctions):
    """An object file loaded by llvmlite, without a linker. Each instance has code and weights of its own."""

    def __init__(self, path: Path, name: str, weights: Path | None) -> None:
        super().__init__(name)
        compiler = InProcess("native", "")
        llvm = compiler.llvm
        if platform.system() == "Linux":
            llvm.load_library_permanently("libm.so.6")
        try:
            machine = llvm.Target.from_triple(compiler.triple).create_target_machine(
                compiler.cpu, compiler.features, opt=0
            )
            self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
            self._engine.add_object_file(llvm.object_file.ObjectFileRef.from_path(str(path)))
            self._engine.finalize_object()
        except (RuntimeError, OSError) as error:
            raise ToolError(f"the compiled object file could not be loaded: {error}") from None
        if weights is not None:
            self._load_weights(weights)

    def _function(self, symbol: str, arguments: Sequence[Any], result: Any = ctypes.c_int) -> Any:
        address = self._engine.get_function_address(symbol)
        if not address:
            raise ToolError(f"the compiled object file has no function {symbol}")
        return ctypes.CFUNCTYPE(result, *arguments)(address)


def linker() -> list[str]:
    """A command that links an object file to a shared library; empty without one."""
    for command in (["cc", "-shared"], ["gcc", "-shared"], ["ld", "-shared"], ["ld.lld", "-shared"]):
        if shutil.which(command[0]) is not None:
            return command
    return []
