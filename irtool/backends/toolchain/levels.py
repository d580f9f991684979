"""Levels of processors: one library has the kernels for several of them, and uses the highest level of the machine.

The code of a level is between two pragmas that allow its instructions there, whatever the target of the rest of the file is. The
lowest level is compiled like the file: it runs on processors without the levels above it, and compilers without these pragmas see
it alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...diagnostics import UsageError, nearest
from ...tir.vector_target import VectorTarget

PORTABLE = "portable"
"""The value of `mcpu` for the usual levels of the compiler's architecture."""


@dataclass(frozen=True)
class ProcessorLevel:
    """A level of an architecture.

    Attributes:
        name: its name behind the compilers' `-march=`.
        macro: the compilers' macro for the architecture.
        features: the instruction sets of its code, as the attribute `target` takes them.
        probe: the C condition by which a running program detects it.
        machine: its vectors.
    """

    name: str
    macro: str
    features: str
    probe: str
    machine: VectorTarget

    @property
    def suffix(self) -> str:
        """The suffix of its functions in C: `_v3`."""
        word = self.name.removeprefix("x86-64-").replace("x86-64", "v1")
        return "_" + "".join(c if c.isalnum() else "_" for c in word)


def _x86(name: str, features: str, tested: str, vectors: VectorTarget) -> ProcessorLevel:
    probe = " && ".join(f'__builtin_cpu_supports("{f}")' for f in tested.split(","))
    return ProcessorLevel(name, "__x86_64__", features, probe, vectors)


_V2 = "sse3,ssse3,sse4.1,sse4.2,popcnt"
_V3 = f"{_V2},avx,avx2,bmi,bmi2,f16c,fma,lzcnt,movbe"
_V4 = f"{_V3},avx512f,avx512bw,avx512cd,avx512dq,avx512vl"
_ARM = VectorTarget(16, 32)

# `__builtin_cpu_supports` has known these features since gcc 6; a processor with them has the rest of its level.
LEVELS: tuple[ProcessorLevel, ...] = (
    _x86("x86-64", "", "sse2", VectorTarget(16, 16)),
    _x86("x86-64-v2", _V2, "sse4.2,popcnt", VectorTarget(16, 16)),
    _x86("x86-64-v3", _V3, "avx2,bmi2,fma", VectorTarget(32, 16)),
    _x86("x86-64-v4", _V4, "avx512f,avx512bw,avx512cd,avx512dq,avx512vl", VectorTarget(64, 32)),
    ProcessorLevel("armv8-a", "__aarch64__", "", "1", _ARM),
    ProcessorLevel(
        "armv8.2-a",
        "__aarch64__",
        "arch=armv8.2-a+fp16+dotprod",
        # Atomics, half-precision arithmetic and dot products, by Linux's bits.
        "(getauxval(16) & 0x100500ul) == 0x100500ul",
        _ARM,
    ),
)
"""Every level, lower ones of an architecture before higher ones."""

_PORTABLE = {"x86_64": ("x86-64-v2", "x86-64-v3", "x86-64-v4"), "aarch64": ("armv8-a",)}
"""The portable levels by architecture. Every 64-bit Arm processor has vectors of 128 bits, and these kernels use no later
instructions."""


def find_levels(mcpu: str, architecture: str) -> tuple[ProcessorLevel, ...]:
    """The levels that `mcpu` names, lowest first; none if it names one processor.

    Args:
        mcpu: `portable`, or names with commas between them.
        architecture: that of the compiler, `x86_64`; an architecture without levels has none for `portable`.

    Raises UsageError for a name that is no level, and for levels of several architectures.
    """
    if mcpu == PORTABLE:
        names: Sequence[str] = _PORTABLE.get(architecture, ())
    elif "," in mcpu:
        names = [n.strip() for n in mcpu.split(",")]
    else:
        return ()
    known = [level.name for level in LEVELS]
    for name in names:
        if name not in known:
            message = f"mcpu={mcpu!r}: {name!r} is not one of the levels {', '.join(known)}"
            raise UsageError(message, help=nearest(name, known))
    levels = tuple(level for level in LEVELS if level.name in names)
    if len({level.macro for level in levels}) > 1:
        raise UsageError(f"mcpu={mcpu!r} has levels of several architectures")
    if levels and architecture and levels[0].macro != f"__{architecture}__":
        raise UsageError(f"mcpu={mcpu!r}: the C compiler is for {architecture}")
    return levels


def open_level(level: ProcessorLevel) -> list[str]:
    """The lines before code of a level."""
    return [
        "#ifdef __clang__",
        f'#pragma clang attribute push(__attribute__((target("{level.features}"))), apply_to = function)',
        "#else",
        "#pragma GCC push_options",
        f'#pragma GCC target("{level.features}")',
        "#endif",
    ]


CLOSE_LEVEL = [
    "#ifdef __clang__",
    "#pragma clang attribute pop",
    "#else",
    "#pragma GCC pop_options",
    "#endif",
]
"""The lines behind code of a level."""


def define_levels(levels: Sequence[ProcessorLevel]) -> list[str]:
    """C that defines IRT_LEVELS: 1 if the code of the levels above the lowest is compiled."""
    linux = "" if _is_x86(levels) else " && defined(__linux__)"
    return [
        f"/* The kernels for {', '.join(level.name for level in levels[1:])}, beside those for {levels[0].name}. */",
        f"#if defined(__GNUC__) && defined({levels[0].macro}){linux} && !defined(IRT_NO_VECTOR)",
        "#define IRT_LEVELS 1",
        "#else",
        "#define IRT_LEVELS 0",
        "#endif",
        "",
    ]


def choose_level(name: str, levels: Sequence[ProcessorLevel]) -> str:
    """C that sets `NAME_level_number` when the program or library is loaded, and the function that returns it.

    The environment variable IRT_LEVEL names the highest level that may be used, for measuring and testing the others.
    """
    higher = levels[1:]
    names = ", ".join(f'"{level.name}"' for level in levels)
    include = "" if _is_x86(levels) else "#include <sys/auxv.h>\n"
    prepare = "  __builtin_cpu_init();\n" if _is_x86(levels) else ""
    # Each test includes the level below: a processor that lacks a part of it is not of the level above.
    tests = [
        f"  if (found == {n - 1} && most >= {n} && {level.probe}) found = {n};" for n, level in enumerate(higher, 1)
    ]
    return (
        f"static const char *const {name}_levels[] = {{{names}}};\n"
        "\n"
        f"#if IRT_LEVELS\n{include}#include <stdlib.h>\n\n"
        f"static int {name}_level_number;\n\n"
        f"__attribute__((constructor)) static void {name}_choose_level(void) {{\n"
        f'  const char *wanted = getenv("IRT_LEVEL");\n'
        f"  int most = {len(higher)}, found = 0, n;\n"
        f"  for (n = 0; wanted && n < {len(levels)}; ++n) if (!strcmp(wanted, {name}_levels[n])) most = n;\n"
        f"{prepare}" + "\n".join(tests) + f"\n  {name}_level_number = found;\n}}\n"
        f"#else\nenum {{ {name}_level_number = 0 }};\n#endif\n\n"
        f"const char *{name}_level(void) {{ return {name}_levels[{name}_level_number]; }}\n"
    )


def _is_x86(levels: Sequence[ProcessorLevel]) -> bool:
    return levels[0].macro == "__x86_64__"
