"""A described machine: the meaning of `native` if the environment variable `IRTOOL_MACHINE` is set.

Schedules are those for the described processor; compiled code uses only the instructions that this processor has, too, so that it
runs here. A description has words with commas between them:

- optionally first, the name of one of `MACHINES`, whose words the others replace;
- `flags=avx2+fma`: instruction sets, by Linux's names for them, of one architecture;
- `cores=8`: the default number of OpenMP's threads;
- `l2_cache_bytes=512K` and the other names of `tir.vector_target.SIZES`, with `K` and `M` as powers of two. Caches without a word
  are unknown, as for a machine that reports none.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ...diagnostics import UsageError, nearest
from ...tir.vector_target import SIZES, USUAL
from ..instructions.listing import row_sets
from ..instructions.row import InstructionSet

VARIABLE = "IRTOOL_MACHINE"

_V3 = "pni+ssse3+sse4_1+sse4_2+popcnt+avx+avx2+bmi1+bmi2+f16c+fma+abm+movbe"
_V4 = f"{_V3}+avx512f+avx512bw+avx512cd+avx512dq+avx512vl"
_ICE_LAKE = f"{_V4}+avx512_vnni+avx512vbmi+avx512_vbmi2"
_NEON = "asimd+asimddp+asimdhp"

MACHINES: Mapping[str, str] = {
    "baseline": "flags=pni,cores=1",
    "sandy-bridge": "flags=pni+ssse3+sse4_1+sse4_2+popcnt+avx,cores=4,l1_cache_bytes=32K,l2_cache_bytes=256K",
    "haswell": f"flags={_V3},cores=4,l1_cache_bytes=32K,l2_cache_bytes=256K",
    "zen2": f"flags={_V3},cores=8,l1_cache_bytes=32K,l2_cache_bytes=512K",
    "zen4": f"flags={_ICE_LAKE}+avx512_bf16,cores=8,l1_cache_bytes=32K,l2_cache_bytes=1M,multiply_adds=1,loads=1",
    "skylake": f"flags={_V4},cores=16,l1_cache_bytes=32K,l2_cache_bytes=1M",
    "sapphire-rapids": f"flags={_ICE_LAKE}+avx_vnni+avx512_bf16+avx512_fp16+amx_tile+amx_int8+amx_bf16,cores=32,"
    "l1_cache_bytes=48K,l2_cache_bytes=2M",
    "neoverse-n1": f"flags={_NEON},cores=64,l1_cache_bytes=64K,l2_cache_bytes=1M",
    "neoverse-v1": f"flags={_NEON}+i8mm,cores=64,l1_cache_bytes=64K,l2_cache_bytes=1M",
    "no-caches": f"flags={_V3},cores=2",
}
"""Descriptions by name, from the makers' manuals; for a name of several processors, those of the server."""


_X86 = {
    "pni": "sse3", "ssse3": "ssse3", "sse4_1": "sse4.1", "sse4_2": "sse4.2", "popcnt": "popcnt", "avx": "avx", "avx2": "avx2",
    "bmi1": "bmi", "bmi2": "bmi2", "f16c": "f16c", "fma": "fma", "abm": "lzcnt", "movbe": "movbe",
    "avx512f": "avx512f", "avx512bw": "avx512bw", "avx512cd": "avx512cd", "avx512dq": "avx512dq", "avx512vl": "avx512vl",
    "avx512vbmi": "avx512vbmi", "avx512_vbmi2": "avx512vbmi2", "avx512_fp16": "avx512fp16",
}  # fmt: skip
"""Compilers' options by Linux's names; the options imply macros."""


@cache
def instruction_sets() -> Mapping[str, InstructionSet]:
    """Instruction sets by their names in Linux's /proc/cpuinfo; those for sums of products come from their rows."""
    x86 = [
        InstructionSet(n, "x86_64", o, f"__{o.upper().replace('.', '_').replace('-', '_')}__") for n, o in _X86.items()
    ]
    arm = [
        InstructionSet("asimd", "aarch64", "simd", "__ARM_NEON"),
        InstructionSet("asimdhp", "aarch64", "fp16", "__ARM_FEATURE_FP16_VECTOR_ARITHMETIC"),
    ]
    return {s.flag: s for s in (*x86, *arm, *row_sets())}


ALWAYS = {"x86_64": ("__x86_64__", "__SSE2__"), "aarch64": ("__aarch64__", "__AARCH64EL__", "__ARM_NEON")}
"""Macros that compilers define for every processor of an architecture."""

_CACHES = ("l1_cache_bytes", "l2_cache_bytes")


@dataclass(frozen=True)
class DescribedMachine:
    """A machine by its description.

    Attributes:
        name: the description in reports and measurements.
        architecture: `x86_64` or `aarch64`.
        flags: instruction sets, by Linux's names.
        cores: the number of threads that run at once.
        sizes: numbers of `SIZES`.
    """

    name: str
    architecture: str
    flags: tuple[str, ...]
    cores: int
    sizes: tuple[tuple[str, int | float], ...]

    @property
    def macros(self) -> str:
        """The macros about vectors that a compiler for the machine would define, each between spaces."""
        return f" {' '.join((*ALWAYS[self.architecture], *(instruction_sets()[f].macro for f in self.flags)))} "

    @property
    def caches(self) -> dict[str, int]:
        """Sizes of caches in bytes, as far as known."""
        return {n: int(v) for n, v in self.sizes if n in _CACHES}

    def options(self, target: str) -> list[str]:
        """Options of a compiler for `target` (`x86_64-linux-gnu`) whose code runs here and on the described machine."""
        here = present_flags()
        names = [instruction_sets()[f].option for f in self.flags if f in here]
        if target.split("-")[0] != self.architecture:
            return []
        if self.architecture == "aarch64":
            return ["-march=" + "+".join(["armv8-a", *(n for n in names if n != "simd")])]
        return ["-march=x86-64", *(f"-m{n}" for n in names)]

    def features(self, architecture: str) -> str:
        """The same as features for LLVM."""
        if architecture != self.architecture:
            return ""
        return ",".join(
            f"+{instruction_sets()[f].option}".replace("+simd", "+neon") for f in self.flags if f in present_flags()
        )


def described_machine() -> DescribedMachine | None:
    """The machine that the environment describes; None without a description. Raises UsageError for a malformed one."""
    text = os.environ.get(VARIABLE, "").strip()
    return read_description(text) if text else None


@cache
def present_flags() -> frozenset[str]:
    """The instruction sets of `instruction_sets` that Linux reports for the processor."""
    with suppress(OSError):
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
        flags_line = re.search(r"^(?:flags|Features)\s*:(.*)$", text, re.MULTILINE)
        return frozenset(flags_line[1].split() if flags_line else ()) & frozenset(instruction_sets())
    return frozenset()


@cache
def read_description(text: str) -> DescribedMachine:
    """The machine that a text describes. Raises UsageError, naming the wrong word."""
    items = [w.strip() for w in text.split(",")]
    name = items[0] if "=" not in items[0] else ""
    if name:
        if name not in MACHINES:
            hint = nearest(name, MACHINES)
            raise _wrong(f"unknown machine {name!r}", f"{hint} the names are {', '.join(MACHINES)}".strip())
        items = [*MACHINES[name].split(","), *items[1:]]
    values: dict[str, str] = {}
    for word in items:
        key, equals, value = (part.strip() for part in word.partition("="))
        if not equals or not value:
            raise _wrong(f"{word!r} is not NAME=VALUE")
        values[key] = value
    flags = _flags(values.pop("flags", ""))
    cores = _number("cores", values.pop("cores", "1"))
    numbers = {n: _number(n, v) for n, v in values.items() if _known(n)}
    try:
        sizes = USUAL.resized(numbers)
    except UsageError as error:
        raise _wrong(error.diagnostics[0].message) from None
    architecture = (
        instruction_sets()[flags[0]].architecture if flags else platform.machine().lower().replace("arm64", "aarch64")
    )
    if architecture not in ALWAYS:
        raise _wrong(
            "flags are needed, as the architecture follows from them", f"flags are {', '.join(instruction_sets())}"
        )
    return DescribedMachine(text, architecture, flags, int(cores), tuple((n, getattr(sizes, n)) for n in values))


def _known(name: str) -> bool:
    if name not in SIZES:
        known = ("flags", "cores", *SIZES)
        raise _wrong(f"unknown word {name!r}", nearest(name, known) or f"words: {', '.join(known)}")
    return True


def _flags(text: str) -> tuple[str, ...]:
    flags = tuple(dict.fromkeys(filter(None, text.split("+"))))
    for flag in flags:
        if flag not in instruction_sets():
            raise _wrong(
                f"no instruction set is called {flag!r}",
                nearest(flag, instruction_sets()) or f"words: {', '.join(instruction_sets())}",
            )
    if len({instruction_sets()[f].architecture for f in flags}) > 1:
        raise _wrong("the flags are of several architectures")
    return flags


def _number(name: str, text: str) -> str:
    """A number in digits, from one that may end in `K` or `M`."""
    form = re.fullmatch(r"(\d{1,12})([KM]?)|\d{1,6}\.\d{1,6}", text)
    if form is None:
        raise _wrong(f"{name}={text} is not a number, such as 32K")
    number = text if form[1] is None else str(int(form[1]) * {"": 1, "K": 1 << 10, "M": 1 << 20}[form[2]])
    if name == "cores" and not (number.isdigit() and 1 <= int(number) <= 4096):
        raise _wrong(f"cores={text} is not between 1 and 4096")
    return number


def _wrong(what: str, help: str = "") -> UsageError:
    return UsageError(f"cannot read {VARIABLE}: {what}", help=help or None)
