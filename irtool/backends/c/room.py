"""Room for tensors and workspace in C: static arrays, or, where they would be too large for these, from `malloc`."""

from __future__ import annotations

from collections.abc import Sequence

from ..interface.memory import STATIC_LIMIT


def tensors(arrays: Sequence[tuple[str, str, int, int]]) -> tuple[list[str], list[str]]:
    """Declarations of arrays, and what `main` does about them first.

    Args:
        arrays: name, C type, number of elements and bytes of each. They begin as zeros.
    """
    if sum(size for _, _, _, size in arrays) <= STATIC_LIMIT:
        return [f"static {t} {name}[{max(1, count)}];" for name, t, count, _ in arrays], []
    lines = [f"  {name} = calloc({max(1, count)}u, sizeof *{name});" for name, _, count, _ in arrays]
    missing = " || ".join(f"!{name}" for name, _, _, _ in arrays)
    lines.append(f'  if ({missing}) {{ fputs("out of memory\\n", stderr); return 1; }}')
    return ["#include <stdlib.h>", *(f"static {t} *{name};" for name, t, _, _ in arrays)], lines


def storage(name: str, upper: str, arena_bytes: int) -> tuple[list[str], str]:
    """Declaration of a network's own workspace, and what a run does about it first."""
    if arena_bytes <= STATIC_LIMIT:
        return [
            '/* In front of the workspace, such as __attribute__((section(".ram2"), aligned(64))). */',
            f"#ifndef {upper}_ARENA_ATTR",
            f"#define {upper}_ARENA_ATTR",
            "#endif",
            "/* Empty: other files see the workspace. extern: another file has it, of this type and size. */",
            f"#ifndef {upper}_ARENA_LINKAGE",
            f"#define {upper}_ARENA_LINKAGE static",
            "#endif",
            f"{upper}_ARENA_LINKAGE {upper}_ARENA_ATTR unsigned char {name}_storage[{upper}_ARENA_SIZE];",
            "",
        ], ""
    return ["#include <stdlib.h>", f"static void *{name}_storage; /* too large for a static array */", ""], (
        f"  if (!{name}_storage) {name}_storage = malloc({upper}_ARENA_SIZE);\n"
    )
