"""The system's C compiler, with `CC` and `CFLAGS`."""

from __future__ import annotations

import errno
import os
import platform
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from ...diagnostics import ToolError, UsageError
from ...tir import bf16_dot, dtypes, int8_dot, int16_dot
from ...tir.vector_target import DotInstruction, VectorTarget
from ..instructions.listing import choose
from ..instructions.row import SUMS, Form, Row
from .caches import cache_sizes
from .described import DescribedMachine, described_machine
from .jobs import Jobs

Answer = subprocess.CompletedProcess[str]

DEFAULT_FLAGS = ("-std=c99", "-O3", "-fno-math-errno", "-fno-trapping-math")
_SHOWN = 4000
_LEVELS = (
    ("x86-64-v4", ("__AVX512F__", "__AVX512BW__", "__AVX512CD__", "__AVX512DQ__", "__AVX512VL__")),
    ("x86-64-v3", ("__AVX2__", "__BMI2__", "__F16C__", "__FMA__", "__LZCNT__", "__MOVBE__")),
    ("x86-64-v2", ("__SSE4_2__", "__POPCNT__", "__SSSE3__")),
    ("x86-64", ("__SSE2__",)),
)
"""Levels of the x86-64 psABI, with the macros of GCC and Clang that identify them."""

_SPARED = (
    "-fno-tree-ccp",
    "-fno-tree-pre",
    "-fno-code-hoisting",
    "-fno-gcse",
    "-fno-gcse-after-reload",
    "-fno-aggressive-loop-optimizations",
    "-fno-split-loops",
    "-fno-loop-interchange",
    "-fno-loop-unroll-and-jam",
    "-fno-version-loops-for-strides",
    "-fno-ipa-cp-clone",
)
"""Passes of gcc that take half of its time and improve nothing: they propagate constants, remove common subexpressions, reorder
loops, and derive numbers of iterations from overflows; generated code has folded constants, common subexpressions in variables,
and loops with constant bounds in the order of a strategy."""

_SPARED_OUT_OF_ORDER = ("-fno-schedule-insns2",)
"""The instruction scheduler after register allocation: an out-of-order processor schedules instructions itself."""

PLAIN_MACHINE = VectorTarget(0, 13, scalar_results=4, blocked_updates=64)
"""An Arm core without vectors: Cortex-M0 to M33, Arm11."""

USUAL = ("cc", "gcc", "clang")
"""Compilers that are searched if none is named, in this order."""

SMALL_STACK = 2048
"""Bytes of the stack, and of a buffer, on a microcontroller."""

NATIVE_NAMES = {"amd64": "x86_64", "arm64": "aarch64", "i686": "i386"}
"""Compilers' names of architectures that have other names elsewhere."""


@dataclass(frozen=True)
class Compiler:
    """A C compiler and its options.

    Attributes:
        cc: the command, such as `aarch64-linux-gnu-gcc`; empty for `CC`, or the first existing one of cc, gcc and clang.
        mcpu: processor: `native`, `none` (leave it to the compiler) or a name that the compiler knows.
        openmp: compile with threads.
        strict: no contraction of a product and a sum into one rounding.
        more: further flags, behind all others.
        link_flags: further ones that link a program for a processor without an operating system; none for others.
    """

    cc: str = ""
    mcpu: str = "native"
    openmp: bool = False
    strict: bool = False
    more: tuple[str, ...] = ()
    link_flags: tuple[str, ...] = ()

    @property
    def command(self) -> list[str]:
        """The compiler as an argument list; a path is absolute, since commands run in other folders."""
        command = split_words(self.cc or os.environ.get("CC", ""), "the name of the C compiler") or [_usual()]
        return [os.path.abspath(command[0]), *command[1:]] if os.path.dirname(command[0]) else command

    @property
    def flags(self) -> list[str]:
        """All flags: irtool's own, the processor's, `CFLAGS`, then those of this build."""
        own = [*DEFAULT_FLAGS, "-ffp-contract=off" if self.strict else "-ffp-contract=fast"]
        own += [*self.processor_flags, *self._tuning]
        return [*own, *(["-fopenmp"] if self.openmp else []), *self._extra_flags]

    @property
    def _extra_flags(self) -> list[str]:
        """The flags of the environment and of this build, which may select other instructions."""
        return [*split_words(os.environ.get("CFLAGS", ""), "CFLAGS"), *self.more]

    @property
    def target(self) -> str:
        """The target triple of the compiler, such as `x86_64-linux-gnu`, with a `--target=…` among `more`; empty if it does not
        tell."""
        return _target((*self.command, *(f for f in self.more if f.startswith("--target="))))

    @property
    def is_freestanding(self) -> bool:
        """True if its target has no operating system: `arm-none-eabi`, `riscv64-unknown-elf`."""
        words = self.target.split("-")
        return "none" in words[1:] or words[-1] == "elf"

    @property
    def _is_cross(self) -> bool:
        """True if the compiler's architecture is not this machine's."""
        here = platform.machine().lower()
        target = self.target
        return bool(target) and target.split("-")[0] != NATIVE_NAMES.get(here, here)

    @property
    def processor_flags(self) -> list[str]:
        """`-march=…` or `-mcpu=…`, whichever option this compiler has for a processor."""
        if self.mcpu in ("", "none"):
            return []
        target = self.target
        if self.mcpu == "native":
            if self._is_cross:
                return []  # its processors are not this one
            described = described_machine()
            if described is not None:
                return described.options(target)
        arm = target.startswith(("aarch64", "arm"))
        return [f"-mcpu={self.mcpu}" if arm and not self.mcpu.startswith("armv") else f"-march={self.mcpu}"]

    @property
    def processor(self) -> str:
        """The target of the code, in the compiler's words: `x86_64, x86-64-v4`; empty without a compiler."""
        target = self.target.split("-")[0]
        macros = read_macros((*self.command, *self.flags))[0] if target == "x86_64" else ""
        level = next((name for name, needed in _LEVELS if macros and all(f" {m} " in macros for m in needed)), "")
        known = self.mcpu if self.mcpu not in ("", "none", "native") else level
        return ", ".join(filter(None, [target, known]))

    @property
    def identity(self) -> str:
        """A key of this compiler with its options, for caches."""
        path = shutil.which(self.command[0])
        if path is None:
            return f"missing {self.command}"
        about = os.stat(path)
        here: tuple[object, ...] = ()
        if self.mcpu == "native":
            here = (read_macros((*self.command, *self.flags))[0], cache_sizes("native"), self._described)
        return repr((os.path.realpath(path), about.st_size, about.st_mtime_ns, self.command, self.flags, here))

    @property
    def known_processors(self) -> list[str]:
        """The processors that the compiler lists where it refuses one; empty if it lists none."""
        target = self.target
        option = "-mcpu" if target.startswith(("aarch64", "arm")) else "-march"
        complaint = read_macros((*self.command, f"{option}=?"))[1]
        names = re.search(r"valid (?:arguments|target CPU values)[^:\n]* are: ([^\n;]*)", complaint)
        return [n for n in re.split(r"[ ,]+", names[1]) if n and n != "native"] if names is not None else []

    def machine(self) -> VectorTarget:
        """The processor according to the compiler's macros, with the width and number of its vector registers, and its caches.

        Without a compiler, the baseline: 128-bit vectors, 16 registers. Raises UsageError for a processor that the compiler does
        not know.
        """
        described = self._described
        if described is not None and not any(f.startswith("-m") for f in self._extra_flags):
            return vectors_of(described.macros).resized(dict(described.sizes))
        if shutil.which(self.command[0]) is None:
            return VectorTarget(16, 16)
        return self._vectors().resized(cache_sizes(self.mcpu) if self.processor_flags else {})

    def _vectors(self) -> VectorTarget:
        """A core with the vectors of the compiler's macros. Raises UsageError for a processor that the compiler does not know."""
        macros, complaint = read_macros((*self.command, *self.flags))
        plain = (*self.command, *DEFAULT_FLAGS, *(f for f in self.more if f.startswith("--target=")))
        if complaint and not read_macros((*plain, *self.processor_flags))[0]:
            if read_macros(plain)[0]:
                message = complaint.splitlines()[0]
                raise UsageError(f"{self.command[0]} does not know the processor {self.mcpu!r}: {message}")
        return vectors_of(macros)

    @property
    def _described(self) -> DescribedMachine | None:
        """The machine that the environment describes, if `native` means it: a cross compiler's processors are not this one."""
        return described_machine() if self.mcpu == "native" and not self._is_cross else None

    @property
    def _quicker(self) -> list[str]:
        """Options that skip passes which find nothing in generated code."""
        macros = read_macros((*self.command, *self.flags))[0]
        if not _is_gcc(macros):
            return []
        return [*_SPARED, *(_SPARED_OUT_OF_ORDER if " __x86_64__ " in macros else ())]

    @property
    def _tuning(self) -> list[str]:
        """`-mtune=…`, if the processor's own tuning harms register tiles.

        With gcc's costs for Zen, each of several multiply-adds reads a common vector from memory, with registers to spare: a tile
        of three vectors then waits for its loads, and takes a third more time. Processors with 32 registers of 512 bits keep
        their tuning: there it was not measured.
        """
        if self.mcpu != "native" and not self.mcpu.startswith("znver"):
            return []  # without asking the compiler
        if self._described is not None:
            return []
        macros = read_macros((*self.command, *self.processor_flags))[0]
        tuned = _is_gcc(macros) and re.search(r" __tune_znver\d+__ ", macros) and " __AVX512F__ " not in macros
        return ["-mtune=generic"] if tuned else []

    def object_command(self, source: str, target: str) -> list[str]:
        """The command that compiles a source to an object file."""
        if self.link_flags:  # as the Makefile of a board compiles it: sizes and counts are those of the user's program
            return [*self.command, *self.flags, "-c", "-o", target, source]
        return [*self.command, *self._quicker, *self.flags, "-fPIC", "-c", "-o", target, source]

    def assemble(self, source: str, target: str, folder: Path) -> None:
        """Compiles a source to assembly, with the flags of an object file but for tables that unwind the stack. Raises ToolError."""
        quicker = [] if self.link_flags else [*self._quicker]
        position = [] if self.link_flags else ["-fPIC"]
        flags = [*quicker, *self.flags, *position, "-fno-asynchronous-unwind-tables"]
        self.run([*flags, "-S", "-o", target, source], folder)

    def link(self, kind: str, objects: Sequence[str], target: str, folder: Path) -> None:
        """Links object files: `so` a shared library, `obj` one object file, `exe` a program."""
        # CFLAGS may have options that linking needs, too: a sanitizer, an architecture.
        flags = self.flags if kind != "obj" else []
        if kind == "obj" and self.link_flags:  # of a processor that need not be the compiler's usual one
            flags = [*self.processor_flags, *(f for f in self.more if f.startswith("-m"))]
        how = {"so": ["-shared"], "obj": ["-r", "-nostdlib"], "exe": self.link_flags}[kind]
        job = [*how, *flags, "-o", target, *objects, *([] if kind == "obj" else ["-lm"])]
        self.run(job, folder)

    def run(self, arguments: Sequence[str], folder: Path) -> None:
        """Runs the compiler in a folder. Raises ToolError, with its message, if it is missing, or fails, or returns 0 without
        having written the file behind `-o`."""
        if not self.is_there:
            raise self.missing()
        command = [*self.command, *arguments]
        try:
            with Jobs(folder) as running:
                answers = running.run([command])
        except OSError as error:
            raise self.unrunnable(error) from None
        self.check([command], answers, folder)

    def check(self, commands: Sequence[Sequence[str]], answers: Sequence[Answer], folder: Path) -> None:
        """Raises ToolError for the first of some commands, run in a folder, that failed."""
        for command, done in zip(commands, answers, strict=True):
            message = done.stderr.strip() or done.stdout.strip()
            notes = (shlex.join(command),)
            if done.returncode != 0:
                message = message or _ending(done.returncode)
                raise ToolError(f"the C compiler failed: {message[:_SHOWN]}", notes=notes)
            target = command[command.index("-o") + 1]
            if not (folder / target).is_file() or not (folder / target).stat().st_size:
                message = f"; it said: {message[:_SHOWN]}" if message else ""
                raise ToolError(f"the C compiler returned 0, but it has not written {target}{message}", notes=notes)

    @property
    def is_there(self) -> bool:
        """True if the command can be run."""
        return shutil.which(self.command[0]) is not None

    @property
    def is_gcc(self) -> bool:
        """True for GCC, false for Clang and others."""
        return _is_gcc(read_macros(tuple(self.command))[0])

    def missing(self) -> ToolError:
        """The error for a missing compiler."""
        is_named = bool(self.cc or os.environ.get("CC", ""))
        missing = self.command[0] if is_named else f"none of {', '.join(USUAL)}"
        return ToolError(
            f"no C compiler: {missing} was {'not ' if is_named else ''}found",
            help="install one, or name it with --cc or CC",
        )

    def unrunnable(self, error: OSError) -> ToolError:
        """The error for a compiler that the system cannot run."""
        return ToolError(f"{self.command[0]} could not be run: {error.strerror}")


def _usual() -> str:
    """The first of the usual compilers that exists."""
    return next((name for name in USUAL if shutil.which(name) is not None), USUAL[0])


def vectors_of(macros: str) -> VectorTarget:
    """A core with the vectors of some macros, each of them between spaces."""
    if "__AVX512F__" in macros:
        # Zen 4, which gcc 12 takes for a Zen 3 with AVX-512, makes 64 bytes in two halves.
        each = 1 if any(f" __znver{n}__ " in macros for n in (3, 4)) else 2
        return VectorTarget(
            64,
            32,
            multiply_adds=each,
            loads=each,
            native_halves=2 if "__AVX512FP16__" in macros else 1,
            **_products(macros, 64),
        )
    if "__AVX__" in macros:
        return VectorTarget(32, 16, **_products(macros, 32))
    bits = re.search(r"#define __ARM_FEATURE_SVE_BITS (\d+)", macros)
    if bits and int(bits[1]) >= 128:  # -msve-vector-bits=…; vectors of unknown length are no types that C could have
        return VectorTarget(int(bits[1]) // 8, 32)
    if "__ARM_NEON" in macros:
        vectors = 32 if "__aarch64__" in macros else 16
        halves = 2 if "__aarch64__" in macros and "__ARM_FEATURE_FP16_VECTOR_ARITHMETIC" in macros else 1
        return VectorTarget(16, vectors, native_halves=halves, **_products(macros, 16))
    if "__ARM_FEATURE_MVE" in macros:
        helium = VectorTarget(16, 8, scalar_results=4, blocked_updates=64, **_products(macros, 16))
        return _of_profile(helium, macros)
    if "__ARM_FEATURE_SIMD32" in macros or _is_microcontroller(macros):
        return _of_profile(replace(PLAIN_MACHINE, **_products(macros, 0)), macros)
    if " __wasm__ " in macros:
        if " __wasm_simd128__ " not in macros:
            return VectorTarget(0, 16, scalar_results=4)
        # Without relaxed instructions, a multiply-add is two of them.
        each = 2 if " __wasm_relaxed_simd__ " in macros else 1
        return VectorTarget(16, 16, multiply_adds=each, **_products(macros, 16))
    if " __riscv_xlen 32" in macros and " __riscv_vector " not in macros:
        return _of_profile(PLAIN_MACHINE, macros)
    return VectorTarget(16, 16, **_products(macros, 16))


def _is_microcontroller(macros: str) -> bool:
    """True for Arm's profile M, and for RISC-V of 32 bits."""
    return " __ARM_ARCH_PROFILE 77" in macros or " __riscv_xlen 32" in macros


def _of_profile(machine: VectorTarget, macros: str) -> VectorTarget:
    """The machine, with the small stack of a microcontroller if it is one."""
    return (
        replace(machine, stack_bytes=SMALL_STACK, scratch_bytes=SMALL_STACK) if _is_microcontroller(macros) else machine
    )


def _products(macros: str, width: int) -> dict[str, Any]:
    """The fields of `VectorTarget` for sums of products, from the rows that these macros choose for vectors of `width` bytes, or
    for general registers."""
    lanes = max(1, width // dtypes.itemsize("int32"))

    def most(functions: Iterable[str], number: Callable[[Row, Form], int]) -> int:
        """The largest number among the chosen rows; 1 without rows."""
        return max((number(*x) for name in functions if (x := choose(name, lanes, macros)) is not None), default=1)

    dots = ((name, choose(name, lanes, macros)) for name in (*int8_dot.DOTS, int16_dot.DOT_WIDE, bf16_dot.DOT_PAIR))
    return {
        "dots": tuple(DotInstruction(name, x[0].depth, x[1].cost, x[1].moved_to) for name, x in dots if x is not None),
        "paired_products": most([bf16_dot.DOT_PAIR], lambda row, form: row.depth // form.cost),
        "wide_products": most([int16_dot.DOT_WIDE], lambda row, _: row.depth),
        "product_rows": most(int8_dot.MATRICES, lambda row, _: row.rows),
        "summed_products": most(SUMS, lambda row, _: row.depth),
        "word_products": most(int8_dot.DOTS, lambda row, _: row.depth) if lanes == 1 else 1,
        "byte_tiles": most(["tiles_u8s8"], lambda row, _: row.rows),
        "pair_tiles": most(["tiles_bf16"], lambda row, _: row.rows),
    }


def _ending(code: int) -> str:
    """The end of a process without a message, as text."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"it was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"it was ended by signal {-code}"


def companion_prefix(command: str) -> str:
    """The prefix of the commands that belong to a compiler: `arm-none-eabi-` of `arm-none-eabi-gcc-12`; empty for `cc`."""
    form = re.fullmatch(r"(.*-)?(?:gcc|cc|clang)(?:-[\d.]+)?", os.path.basename(command))
    return os.path.join(os.path.dirname(command), form[1]) if form is not None and form[1] else ""


def split_words(text: str, what: str) -> list[str]:
    """The words of a command line, split as by a shell. Raises UsageError for unterminated quotes."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UsageError(f"cannot read {what}, {text!r}: {str(error)[:1].lower()}{str(error)[1:]}") from None


def _target(command: tuple[str, ...]) -> str:
    """The target triple of a compiler, such as `x86_64-linux-gnu`; empty if it does not tell."""
    return _answer((*_located(command), "-dumpmachine"))[0].strip()


def _is_gcc(macros: str) -> bool:
    return " __GNUC__ " in macros and " __clang__ " not in macros


def read_macros(full: tuple[str, ...]) -> tuple[str, str]:
    """The macros that the compiler defines and an empty text, or an empty text and its message."""
    return _answer((*_located(full), "-dM", "-E", "-x", "c", os.devnull))


def _located(command: tuple[str, ...]) -> tuple[str, ...]:
    """The command with the path of its program, as another PATH may have another program of the same name."""
    return shutil.which(command[0]) or command[0], *command[1:]


@cache
def _answer(command: tuple[str, ...]) -> tuple[str, str]:
    """The output of a command and an empty text, or an empty text and its message."""
    done = _ask(command)
    if isinstance(done, OSError):
        return "", str(done)
    return (done.stdout, "") if done.returncode == 0 else ("", done.stderr.strip() or "it failed")


def _ask(command: Sequence[str]) -> subprocess.CompletedProcess[str] | OSError:
    """The result of a command, or the error for one that cannot be run. A program that is not there takes no thread, which systems
    without processes, such as WASI, do not have."""
    if shutil.which(command[0], os.F_OK) is None:
        return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), command[0])
    try:
        with Jobs() as running:
            return running.run([command])[0]
    except OSError as error:
        return error
