"""A C program that runs a compiled network on the random inputs of `irtool run` and compares its outputs with known ones.

The program draws the inputs itself (`draws`), so that only the outputs have to be stored; a large output is sampled at every n-th
element.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from ...selection.vectors.types import HALVES
from ...tir import dtypes
from ..c_types import bare, literal, stored_type
from ..formulas.support import FROM_BITS, INLINE, definitions
from ..interface.entry import EntryPoint
from ..sources import Sample
from . import draws, static_memory

_MOST = 4096
"""The most elements of an output that are compared, approximately."""

_TOLERANCE = {"float64": 1e-6, "float32": 1e-3, "float16": 2e-2, "bfloat16": 1e-1}
"""Largest difference, relative to the largest element of the output; integers are equal."""


def write_testbench(name: str, entry: EntryPoint, sample: Sample, has_weights: bool, half_types: Set[str]) -> str:
    """The program; `half_types` are the 16-bit dtypes that kernels read and write: numbers that pass through 16 bits agree with
    those of the interpreter to 16 bits only.

    Its argument is the path of the weights file, `NAME.bin` by default, and it returns 0 if all outputs agree.
    """
    lines = [
        f"/* Runs {name} on random inputs, always the same, and compares its outputs with those of the interpreter. */",
        f'#include "{name}.h"',
        "#include <math.h>",
        "#include <stdio.h>",
        "",
    ]
    arrays = [(f"{p.name}_data", stored_type(p.slot.dtype), p.slot.size, p.slot.nbytes) for p in entry.tensors]
    declared, prepared = static_memory.tensors(arrays)
    lines += declared
    steps = []
    for p, want in zip(entry.outputs, sample.outputs, strict=True):
        flat = want.reshape(-1)
        step = max(1, flat.size // _MOST)
        steps.append((step, flat[::step]))
        lines += draws.table(f"const double {p.name}_expected", [_number(v) for v in flat[::step].tolist()])
    inputs = list(zip(entry.inputs, sample.inputs, strict=True))
    for p, value in inputs:
        lines += draws.given_values(p, value)
    used = {p.slot.dtype for p in entry.outputs}
    support = definitions([*draws.helpers(inputs), *(h for dtype, h in FROM_BITS.items() if dtype in used)])
    lines += [*(INLINE if support else ("",)), *support, *draws.generator(inputs), "", *_COMPARE]
    lines += ["int main(int argc, char **argv) {", "  unsigned long i;", "  int code, wrong = 0;", *prepared]
    if has_weights:
        lines += [
            f'  code = {name}_load_weights(argc > 1 ? argv[1] : "{name}.bin");',
            '  if (code) { printf("the weights cannot be loaded: error %d\\n", code); return 1; }',
        ]
    else:
        lines += ["  (void)argc;", "  (void)argv;"]
    for p, value in inputs:
        lines += draws.fill(p, value)
    lines += [
        f"  code = {entry.run}({', '.join(p.name + '_data' for p in entry.tensors)});",
        f'  if (code) {{ printf("{entry.run} failed: error %d\\n", code); return 1; }}',
    ]
    for p, (step, values) in zip(entry.outputs, steps):
        element = f"{p.name}_data[i * {step}u]"
        wide = f"(double){FROM_BITS[p.slot.dtype].name}({element})" if p.slot.dtype in HALVES else f"(double){element}"
        allowed = _allowed(_coarsest(p.slot.dtype, half_types), values)
        lines += [
            f"  for (i = 0; i < {values.size}u; ++i)",
            f'    wrong += differs("{p.name}", i * {step}u, {wide}, {p.name}_expected[i], {allowed!r});',
        ]
    lines += ['  printf("%s: %d elements differ\\n", wrong ? "FAILED" : "passed", wrong);']
    return "\n".join([*lines, "  return wrong != 0;", "}", ""])


def _number(v: Any) -> str:
    return bare(literal(float(v), "float64"))


def _allowed(dtype: str, values: Any) -> float:
    import numpy as np

    wide = values.astype("float64")
    largest = float(np.abs(np.where(np.isfinite(wide), wide, 0.0)).max()) if wide.size else 0.0
    return _TOLERANCE.get(dtype, 0.0) * largest


def _coarsest(output: str, through: Set[str]) -> str:
    """The dtype that limits the agreement of an output: numbers in 32 bits may have been in 16 before."""
    dtypes_in_use = [output, *(d for d in HALVES if d in through)] if dtypes.is_float(output) else [output]
    return max(dtypes_in_use, key=lambda d: _TOLERANCE.get(d, 0.0))


_COMPARE = (
    "static int differs(const char *what, unsigned long at, double got, double want, double allowed) {",
    "  if (got == want || fabs(got - want) <= allowed || (got != got && want != want)) return 0;",
    '  printf("%s[%lu] is %.9g, expected %.9g\\n", what, at, got, want);',
    "  return 1;",
    "}",
    "",
)
