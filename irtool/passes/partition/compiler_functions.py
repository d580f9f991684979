"""Functions that other compilers handle: those with the attribute `Compiler`."""

from __future__ import annotations

from typing import Any, TypeGuard

from ...ir import Function


def is_compiler_function(f: Any, compiler: str = "") -> TypeGuard[Function]:
    """True if it is a function for that compiler, or for any one if `compiler` is empty."""
    return isinstance(f, Function) and "Compiler" in f.attrs and compiler in ("", f.attrs["Compiler"])
