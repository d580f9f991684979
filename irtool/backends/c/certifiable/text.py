"""Names of kernels and headers of sources: names that differ in the characters that C compares, and headers that are in use alone."""

from __future__ import annotations

import re

from ....tir.kernel import Kernel
from ...interface.names import sanitize
from ...libm import LIBM

_LONGEST = 60
"""The most characters of a kernel's name: C compares the first 63 of names without external linkage (MISRA C:2012, rule 5.2)."""

_HEADERS = {
    "<math.h>": re.compile(
        rf"\b(?:(?:{'|'.join(sorted({*LIBM.values(), 'fabs', 'exp', 'sqrt', 'pow'}))})f?|isnan|isinf|isfinite|NAN|INFINITY)\b"
    ),
    "<stdbool.h>": re.compile(r"\b(?:bool|true|false)\b"),
    "<string.h>": re.compile(r"\bmem(?:cpy|set|cmp)\("),
}
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_INCLUDED = re.compile(r"^#include <(?:math|string)\.h>\n", re.MULTILINE)


def short_symbol(kernel: Kernel, program: str, number: int) -> str:
    """The name of a kernel: `net_k3_nn_conv2d_nn_relu`, with as many operators as there is room for."""
    operators = list(kernel.operators)
    while True:
        name = sanitize("_".join([f"{program}_k{number}", *operators]))
        if len(name) <= _LONGEST or not operators:
            return name
        operators.pop()


def with_headers(source: str, name: str, further: str = "") -> str:
    """The source, with the headers of the C library that its code uses behind its own one, and a further line."""
    code = _COMMENT.sub(" ", source)
    used = [f"#include {h}" for h, words in _HEADERS.items() if words.search(code)]
    own = f'#include "{name}.h"\n'
    lines = "\n".join([*filter(None, [further]), *used])
    return _INCLUDED.sub("", source).replace(own, f"{own}{lines}\n" if lines else own, 1)
