"""The functions that move objects, written once for all backends: `objects.c`, in the part of C that `llvm.small_c` reads."""

from __future__ import annotations

import pkgutil
import re
from functools import cache


@cache
def object_functions() -> dict[str, str]:
    """The text of each function by its name, callees first."""
    text = (pkgutil.get_data(__package__, "objects.c") or b"").decode()
    functions = {}
    for part in text.strip().split("\n\n"):
        head = re.search(r"IRT_INLINE \w+ (\w+)\(", part)
        assert head is not None
        functions[head[1]] = part
    return functions


def with_callees(name: str) -> list[str]:
    """The names of a function and of those that it calls, callees first."""
    functions = object_functions()
    needed = {name}
    for other in reversed(functions):
        if other in needed:
            needed |= set(re.findall(r"\birt_\w+", functions[other]))
    return [n for n in functions if n in needed]
