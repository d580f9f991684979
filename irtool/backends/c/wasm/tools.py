"""The compilers for WebAssembly, and their command lines."""

from __future__ import annotations

import glob
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ....diagnostics import ToolError
from ....extras import install_line
from ...toolchain.compiler import Compiler, split_words

PLAIN = "wasm"
LEVELS: dict[str, tuple[tuple[str, ...], str]] = {
    PLAIN: (("-DIRT_NO_VECTOR", "-DIRT_NO_NOTICE"), " __wasm__ "),
    "wasm-simd128": (("-msimd128",), " __wasm__ __wasm_simd128__ "),
    "wasm-relaxed-simd": (("-msimd128", "-mrelaxed-simd"), " __wasm__ __wasm_simd128__ __wasm_relaxed_simd__ "),
}
"""The flags and the macros of compilers by the name of a processor; the engines of each have the instructions of those before it."""

_TARGET = "wasm32-wasi"
_PAGE = 1 << 16
_EMSCRIPTEN = ("-sSTANDALONE_WASM=1", "--no-entry")
_REACTOR = ("-mexec-model=reactor",)


@dataclass(frozen=True)
class WasmCompiler(Compiler):
    """A C compiler for WebAssembly. `CC` and `CFLAGS` are those of this machine's programs, and say nothing of it."""

    @property
    def _extra_flags(self) -> list[str]:
        return list(self.more)

    def object_command(self, source: str, target: str) -> list[str]:
        return [*self.command, *self.flags, "-c", "-o", target, source]

    def link_module(
        self, objects: Sequence[str], exports: Sequence[str], target: str, stack: int, folder: Path
    ) -> None:
        """Links object files to a module with these functions, for runs that take so many bytes of the stack.

        Flags of the processor are absent: zig compiles a C library for each set of them.
        """
        size = -(-(stack + _PAGE) // _PAGE) * _PAGE
        options = [f"-Wl,--export={name}" for name in exports]
        options += ["-Wl,--strip-all", f"-Wl,-z,stack-size={size}"]
        self.run([*self.link_flags, *options, "-o", target, *objects, "-lm"], folder)


def find_compiler(cc: str) -> list[str] | None:
    """The words of a compiler's command: those of `cc`, or of the first that is here. None without one.

    They are searched in this order: zig of the Python package `ziglang`, clang of the WASI SDK in `WASI_SDK_PATH`, a clang with `wasm-ld` and
    wasi-libc, newest first, and emscripten.
    """
    return split_words(cc, "the name of the C compiler") if cc else next(_candidates(), None)


def make_compiler(command: Sequence[str] | None, level: str, strict: bool, more: Sequence[str]) -> WasmCompiler:
    """The compiler of a command for a processor, with further flags; without a command, clang for text."""
    words = list(command) if command is not None else ["clang", f"--target={_TARGET}"]
    is_emscripten = re.fullmatch(r"emcc(\.py|\.bat)?", os.path.basename(words[0])) is not None
    flags = (*LEVELS[level][0], *more)
    return WasmCompiler(shlex.join(words), "none", False, strict, flags, _EMSCRIPTEN if is_emscripten else _REACTOR)


def missing_compiler() -> ToolError:
    """The error for a machine without any."""
    return ToolError(
        "no compiler for WebAssembly: neither the Python package ziglang, nor clang with wasm-ld and wasi-libc, nor emcc was found",
        help=f"{install_line('wasm')}; or Debian's packages clang, lld, wasi-libc and libclang-rt-dev-wasm32; or emscripten; or name one with --cc",
    )


def _candidates() -> Iterator[list[str]]:
    package = importlib.util.find_spec("ziglang")
    for folder in package.submodule_search_locations or () if package is not None else ():
        zig = shutil.which("zig", path=folder)
        if zig is not None:
            yield [zig, "cc", "-target", _TARGET]
    sdk = os.environ.get("WASI_SDK_PATH", "")
    clang = shutil.which("clang", path=os.path.join(sdk, "bin")) if sdk else None
    if clang is not None:
        yield [clang, f"--target={_TARGET}"]
    for clang in _clangs(os.environ.get("PATH", os.defpath)):
        if _is_complete(clang):
            yield [clang, f"--target={_TARGET}"]
    if shutil.which("emcc") is not None:
        yield ["emcc"]


@cache
def _clangs(path: str) -> tuple[str, ...]:
    """The clangs on a PATH, those with a version in their names newest first."""
    versions: dict[int, str] = {}
    for folder in path.split(os.pathsep):
        for file in glob.glob(os.path.join(glob.escape(folder), "clang-*")):
            version = re.fullmatch(r"clang-(\d+)", os.path.basename(file))
            if version is not None and shutil.which(file) is not None:
                versions.setdefault(int(version[1]), file)
    plain = shutil.which("clang", path=path)
    return (*(versions[n] for n in sorted(versions, reverse=True)), *([plain] if plain is not None else []))


@cache
def _is_complete(clang: str) -> bool:
    """True if a clang has a linker, a C library and its own library for WebAssembly."""
    asked = ("-print-prog-name=wasm-ld", "-print-file-name=libc.a", "-print-libgcc-file-name")
    for question in asked:
        try:
            answer = subprocess.run(
                [clang, f"--target={_TARGET}", question], capture_output=True, text=True, timeout=20, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
        path = answer.stdout.strip()
        if answer.returncode or (shutil.which(path) is None and not os.path.isfile(path)):
            return False
    return True
