"""An examination of the C compiler for `irtool doctor`: it compiles an empty program."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence

from ..base import ABSENT, MISSING, OK, Finding
from ..instructions.listing import row_sets
from .compiler import Compiler, read_macros
from .described import described_machine
from .processor import processor_name, thread_count

_SETS = {
    "SSE4.2": "__SSE4_2__", "AVX": "__AVX__", "AVX2": "__AVX2__", "FMA": "__FMA__", "F16C": "__F16C__",
    "AVX-512F": "__AVX512F__", "AVX-512 BF16": "__AVX512BF16__", "AVX-512 FP16": "__AVX512FP16__",
    "AMX of int8": "__AMX_INT8__", "AMX of bfloat16": "__AMX_BF16__", "NEON": "__ARM_NEON",
    "float16 arithmetic": "__ARM_FEATURE_FP16_VECTOR_ARITHMETIC", "SVE": "__ARM_FEATURE_SVE",
}  # fmt: skip
"""Instruction sets that generated code uses, by the macro of compilers for each; rows have more of them."""
_PROGRAM = "int main(void) { return 0; }\n"
_OPENMP, _SANITIZERS = "-fopenmp", "-fsanitize=address,undefined"
_PATIENCE = 60
"""Seconds that a compiler may take."""


def examine_compiler(compiler: Compiler) -> Iterator[Finding]:
    """Findings on the compiler: its presence, its abilities, and its view of the processor."""
    command = compiler.command
    name, purpose = " ".join(command), "build, run --compare: compiles the C"
    if shutil.which(command[0]) is None:
        yield Finding("C compiler", MISSING, name, purpose, "install gcc or clang, or let CC name one", True)
    else:
        works = _compiles(command)
        version = first_line([*command, "--version"]) or name
        help = "" if works else f"{name} cannot compile an empty program"
        yield Finding("C compiler", OK if works else MISSING, version, purpose, help, True)
        for part, flags, use in (
            ("OpenMP", [_OPENMP], "--openmp: threads in compiled programs"),
            ("sanitizers", [_SANITIZERS], "--sanitize: checks in compiled programs"),
        ):
            yield Finding(part, OK if _compiles([*command, *flags]) else ABSENT, " ".join(flags), use)
    yield from _processor(compiler)


def compiler_features(compiler: Compiler) -> dict[str, Callable[[], bool]]:
    """The features that golden files may require: the compiler, gcc and clang by name, its abilities, and instruction sets."""
    command = compiler.command

    def can(*flags: str) -> bool:
        return shutil.which(command[0]) is not None and _compiles([*command, *flags])

    def has(instructions: str) -> bool:
        return shutil.which(command[0]) is not None and instructions in _instructions(compiler)

    return {
        "cc": can,
        "gcc": lambda: shutil.which("gcc") is not None,
        "clang": lambda: shutil.which("clang") is not None,
        "OpenMP": lambda: can(_OPENMP),
        "sanitizers": lambda: can(_SANITIZERS),
        **{name: functools.partial(has, name) for name in _macros()},
    }


def _compiles(command: Sequence[str]) -> bool:
    with tempfile.TemporaryDirectory(prefix="irtool-doctor-") as folder:
        source = os.path.join(folder, "program.c")
        with open(source, "w", encoding="utf-8") as out:
            out.write(_PROGRAM)
        try:
            done = subprocess.run(
                [*command, source, "-o", os.path.join(folder, "program")],
                capture_output=True, timeout=_PATIENCE, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            return False
        return done.returncode == 0


def first_line(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, timeout=_PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace").partition("\n")[0].strip()


def _processor(compiler: Compiler) -> Iterator[Finding]:
    purpose = "the target of schedules" if described_machine() is not None else "runs compiled programs"
    yield Finding("processor", OK, processor_name(), purpose)
    yield Finding("threads", OK, str(thread_count()), "OpenMP's default; OMP_NUM_THREADS sets another number")
    if shutil.which(compiler.command[0]) is None:
        return
    instructions = _instructions(compiler)
    yield Finding(
        "instructions",
        OK,
        ", ".join(instructions) or "none beyond the baseline",
        "--mcpu=native: instructions in kernels",
    )
    machine = compiler.machine()
    vectors = f"{machine.vector_bytes} bytes, {machine.registers} registers"
    yield Finding("vectors", OK, vectors, "sizes of tiles")


def _macros() -> dict[str, str]:
    return _SETS | {s.title: s.macro for s in row_sets() if s.title}


def _instructions(compiler: Compiler) -> list[str]:
    """The instruction sets of this processor that the compiler uses."""
    macros = read_macros((*compiler.command, *compiler.flags))[0]
    return [name for name, macro in _macros().items() if f" {macro} " in macros]
