"""Memory for tensors and workspace in C: static arrays, or from `malloc` if they exceed the limit of static memory."""

from __future__ import annotations

from collections.abc import Sequence

from ..interface.memory import STATIC_LIMIT


def tensors(arrays: Sequence[tuple[str, str, int, int]]) -> tuple[list[str], list[str]]:
    """Declarations of arrays, and the first statements of `main` about them.

    Args:
        arrays: name, C type, number of elements and bytes of each. They begin as zeros.
    """
    if sum(size for _, _, _, size in arrays) <= STATIC_LIMIT:
        return [f"static {t} {name}[{max(1, count)}];" for name, t, count, _ in arrays], []
    lines = [f"  {name} = calloc({max(1, count)}u, sizeof *{name});" for name, _, count, _ in arrays]
    missing = " || ".join(f"!{name}" for name, _, _, _ in arrays)
    lines.append(f'  if ({missing}) {{ fputs("out of memory\\n", stderr); return 1; }}')
    return ["#include <stdlib.h>", *(f"static {t} *{name};" for name, t, _, _ in arrays)], lines


def storage(symbol: str, macro: str, size: int) -> tuple[list[str], str]:
    """Declaration of a network's own memory, and the first statements of a run about it.

    Args:
        symbol: its name.
        macro: prefix of its macros: `NAME_ARENA`, with its size in `NAME_ARENA_SIZE`.
        size: its bytes, without those for alignment.
    """
    if size <= STATIC_LIMIT:
        return [
            '/* In front of the workspace, such as __attribute__((section(".ram2"), aligned(64))). */',
            f"#ifndef {macro}_ATTR",
            f"#define {macro}_ATTR",
            "#endif",
            "/* Empty: other files see the workspace. extern: another file has it, of this type and size. */",
            f"#ifndef {macro}_LINKAGE",
            f"#define {macro}_LINKAGE static",
            "#endif",
            f"{macro}_LINKAGE {macro}_ATTR unsigned char {symbol}[{macro}_SIZE];",
            "",
        ], ""
    return ["#include <stdlib.h>", f"static void *{symbol}; /* too large for a static array */", ""], (
        f"  if (!{symbol}) {symbol} = malloc({macro}_SIZE);\n"
    )
