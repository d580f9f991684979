"""Functions of vectors called from Python, one by one: compiled as emitted, with every warning an error."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np

from irtool.backends.formulas import support, vector_math, vector_types
from irtool.backends.toolchain.compiler import DEFAULT_FLAGS, Compiler

PROCESSORS = {"x86-64": 16, "x86-64-v3": 32, "native": 0}
"""Processors to compile for and the bytes of their vectors; 0: whatever the compiler says."""
_WARNINGS = ["-Wall", "-Wextra", "-pedantic", "-Werror"]


class Functions:
    """Functions, as pairs of name and dtype, compiled for a processor; called by name on arrays of that dtype."""

    def __init__(self, functions: list[tuple[str, str]], mcpu: str, folder: Path, cc: str = "") -> None:
        compiler = Compiler(cc=cc, mcpu=mcpu)
        width = PROCESSORS[mcpu] or compiler.machine().vector_bytes
        texts: dict[tuple[str, str, int], str] = {}
        calls: list[str] = []
        types: dict[tuple[str, int], None] = {}
        for name, dtype in functions:
            size = np.dtype(dtype).itemsize
            lanes, bits = width // size, size * 8
            types.update({(d, lanes): None for d in (dtype, f"int{bits}", f"uint{bits}")})
            texts.update(vector_math.define(name, dtype, lanes))
            calls.append(_loop(name, dtype, lanes))
        lines = ["#include <math.h>", "#include <stdint.h>", "#include <string.h>"]
        lines += [vector_types.define_type(*t) for t in types]
        lines += [*support.INLINE, *texts.values()]
        (folder / "functions.c").write_text("\n".join([*lines, *calls]) + "\n")
        flags = [*DEFAULT_FLAGS, "-O2", "-ffp-contract=fast", *compiler.processor_flags]
        compiler.run([*flags, *_WARNINGS, "-fPIC", "-shared", "-o", "functions.so", "functions.c", "-lm"], folder)
        self.library = ctypes.CDLL(str(folder / "functions.so"))

    def __call__(self, name: str, *arrays: np.ndarray) -> np.ndarray:
        dtype = str(arrays[0].dtype)
        count = len(arrays[0])
        padded = [np.concatenate([a, np.zeros(-count % 64, dtype)]) for a in arrays]
        result = np.empty_like(padded[0])
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in (*padded, *padded[:1], result)]
        getattr(self.library, f"{name}_{dtype}")(pointers[0], pointers[1], pointers[-1], ctypes.c_long(len(result)))
        return result[:count]


def _loop(name: str, dtype: str, lanes: int) -> str:
    t = vector_types.vector_type(dtype, lanes)
    element = {"float32": "float", "float64": "double"}[dtype]
    second = f", *(const {t}_u *)(b + k)" if name in TWO else ""
    head = f"void {name}_{dtype}(const {element} *a, const {element} *b, {element} *y, long count)"
    return (
        f"{head};\n{head} {{\n  long k;\n  (void)b;\n  for (k = 0; k < count; k += {lanes})\n"
        f"    *({t}_u *)(y + k) = irt_v{name}_{t[4:]}(*(const {t}_u *)(a + k){second});\n}}"
    )


TWO = ("atan2", "copysign", "fmod", "hypot", "pow")
"""Functions of two arguments."""
