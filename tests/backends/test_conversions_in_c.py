"""Functions of vectors convert no number to another sign or width by themselves: `-Wconversion -Wsign-conversion` has nothing to say.

Networks are compiled with whatever warnings their owners like. Instructions take masks whose types differ from one to the next.
"""

from __future__ import annotations

import shutil
import subprocess
from itertools import product
from pathlib import Path

import pytest

from irtool.backends.formulas import support, vector_dots, vector_math, vector_types
from irtool.tir import dtypes

INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
EVERY = ("select", "clamp", "min", "max", "load", "put")
FLOATS = ("minimum", "maximum", "even", "third")
INT32 = (*vector_dots.DOTS, vector_dots.DOT_WIDE, vector_dots.DOT_PAIR)
WANTED = sorted(
    {
        *vector_math.FUNCTIONS,
        *product(EVERY, ("float32", "float64", *INTEGERS)),
        *product(FLOATS, ("float32", "float64")),
        *product(INT32, ("int32",)),
        ("look_up", "uint8"),
    }
)
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wsign-conversion", "-Wno-unused-function", "-Wno-psabi", "-Werror"]


def text(widest: int) -> str:
    """All functions for vectors of that many bytes and of half as many."""
    texts: dict[tuple[str, str, int], str] = {}
    for width, (name, dtype) in product((widest // 2, widest), WANTED):
        lanes = width // dtypes.itemsize(dtype)
        if lanes > 1:
            texts.update(vector_math.define(name, dtype, lanes))
    types = [vector_types.define_type(d, n) for d in ("float32", "float64", *INTEGERS) for n in (2, 4, 8, 16, 32, 64)]
    headers = [f"#include <{h}.h>" for h in ("math", "stddef", "stdint", "string")]
    return "\n".join([*headers, *types, *support.INLINE, *texts.values()]) + "\n"


@pytest.mark.parametrize("cc", ["gcc", "clang"])
@pytest.mark.parametrize(
    ("processor", "width"), [("x86-64", 16), ("haswell", 32), ("skylake-avx512", 64), ("sapphirerapids", 64)]
)
def test_no_function_converts_by_itself(tmp_path: Path, cc: str, processor: str, width: int) -> None:
    known = shutil.which(cc) and subprocess.run(
        [cc, f"-march={processor}", "-E", "-"], input="", text=True, capture_output=True
    )
    if not known or known.returncode:
        pytest.skip(f"there is no {cc} for {processor}")
    (tmp_path / "f.c").write_text(text(width))
    command = [cc, "-std=c99", f"-march={processor}", "-fsyntax-only", *WARNINGS, "f.c"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert not done.returncode, done.stderr
