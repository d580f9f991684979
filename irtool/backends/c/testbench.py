"""A C program that runs a compiled network on the random inputs of `irtool run` and compares its outputs with known ones.

The program draws the inputs itself (`draws`), so that only the outputs have to be stored; a large output is sampled at every n-th
element.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

from ...selection.vectors.types import HALVES
from ...symbolic_int import Symbol, bound, symbols_of, value_at
from ...tir import dtypes
from ...tir.dtypes import HANDLE, itemsize
from ...tir.program import HostFunction
from ...tir.symbols import symbols_of_function, with_equal_lengths
from ..c_types import bare, literal, stored_type
from ..formulas.support import FROM_BITS, INLINE, definitions
from ..interface.entry import EntryPoint, Parameter
from ..sources import Sample, SampleValues
from . import draws, static_memory
from .profile_hooks import define_printing, print_at_exit
from .value_comparison import ValueComparison

_MOST = 4096
"""The most elements of an output that are compared, approximately."""

_TOLERANCE = {"float64": 1e-6, "float32": 1e-3, "float16": 2e-2, "bfloat16": 1e-1}
"""Largest difference, relative to the largest element of the output; integers are equal."""


_SOME_STEPS = 40
"""The steps from the least length to the greatest one that is tried, if nothing bounds it."""

Trial = tuple[Mapping[Symbol, int], Sample]
"""Values of the lengths that a run decides, and inputs and outputs for these."""


def trial_lengths(function: HostFunction) -> list[dict[Symbol, int]]:
    """The lengths that are tried: the least, the greatest, those in the middle, and some of which no two are equal; one trial without any.

    Of lengths without a bound, the greatest one is a small one.
    """
    symbols = symbols_of_function(function)
    if not symbols:
        return [{}]
    bounded = {s: s if s.is_bounded else s.within(s.low, s.low + _SOME_STEPS * s.step) or s for s in symbols}
    trials = [
        {s: b.low for s, b in bounded.items()},
        {s: b.part(1, 2) for s, b in bounded.items()},
        {s: b.high for s, b in bounded.items()},
        {s: b.part(n + 1, len(symbols) + 3) for n, (s, b) in enumerate(bounded.items())},
    ]
    trials = [with_equal_lengths(function, t) for t in trials]
    return [t for n, t in enumerate(trials) if t not in trials[:n]]


def write_testbench(
    name: str,
    entry: EntryPoint,
    trials: Sequence[Trial],
    has_weights: bool,
    half_types: Set[str],
    has_hooks: bool = False,
) -> str:
    """The program; `half_types` are the 16-bit dtypes that kernels read and write: numbers that pass through 16 bits agree with
    those of the interpreter to 16 bits only.

    Its argument is the path of the weights file, `NAME.bin` by default, and it returns 0 if all outputs agree. If it `has_hooks` and is compiled
    with `-DNAME_PROFILE`, it prints the times of kernels to standard error at the end.
    """
    lines = [
        f"/* Runs {name} on random inputs, always the same, and compares its outputs with those of the interpreter. */",
        f'#include "{name}.h"',
        "#include <math.h>",
        "#include <stdio.h>",
        "#include <string.h>",
        *(["#include <stdlib.h>"] if entry.arena_size else []),
        "",
    ]
    most = {p: _most_elements(p.slot.size, trials) if entry.arena_size else bound(p.slot.size) for p in entry.tensors}
    arrays = [
        (f"{p.name}_data", stored_type(p.slot.dtype), most[p], most[p] * itemsize(p.slot.dtype)) for p in entry.tensors
    ]
    declared, prepared = static_memory.tensors(arrays)
    lines += declared
    comparison = None
    if entry.data is not None and entry.function.values is not None:
        images = [s.values.expected for _, s in trials if s.values is not None]
        comparison = ValueComparison(entry.function.values.types, images)
        lines += memory_of_values(name, max(image.size for image in images))
    lines += [f"static struct {name}_net instance;"] if entry.instance is not None else []
    lines += ["static void *arena;", "static size_t size;"] if entry.arena_size else []
    tries = [
        _Try(entry, values, sample, half_types, f"_{n}" if len(trials) > 1 else "", comparison)
        for n, (values, sample) in enumerate(trials)
    ]
    inputs = [x for t in tries for x in t.inputs]
    lines += [line for t in tries for line in t.tables()]
    used = {p.slot.dtype for p in entry.outputs}
    used |= {*(comparison.dtypes if comparison is not None else ())}
    support = definitions([*draws.helpers(inputs), *(h for dtype, h in FROM_BITS.items() if dtype in used)])
    lines += [
        *(INLINE if support else ("",)),
        *support,
        *draws.generator(inputs),
        "",
        *(_COMPARE if entry.outputs or comparison is not None else ()),
        *(comparison.lines() if comparison is not None else ()),
    ]
    lines += define_printing(name) if has_hooks else []
    lines += ["int main(int argc, char **argv) {", "  unsigned long i;", "  int code, wrong = 0;", *prepared]
    lines += print_at_exit(name) if has_hooks else []
    if has_weights:
        lines += [
            f'  code = {name}_load_weights(argc > 1 ? argv[1] : "{name}.bin");',
            '  if (code) { printf("the weights cannot be loaded: error %d\\n", code); return 1; }',
        ]
    else:
        lines += ["  (void)argc;", "  (void)argv;"]
    lines += [line for t in tries for line in t.statements()]
    lines += ['  printf("%s: %d elements differ\\n", wrong ? "FAILED" : "passed", wrong);']
    return "\n".join([*lines, "  return wrong != 0;", "}", ""])


def _most_elements(size: int, trials: Sequence[Trial]) -> int:
    """The elements of a tensor in the largest trial; lengths that follow from values are as large as they can be."""
    largest = {s: s.high for s in symbols_of([size])}
    return max(int(value_at(size, {**largest, **values})) for values, _ in trials)


class _Try:
    """The text of one run and its comparison."""

    def __init__(
        self,
        entry: EntryPoint,
        values: Mapping[Symbol, int],
        sample: Sample,
        half_types: Set[str],
        suffix: str,
        comparison: ValueComparison | None = None,
    ) -> None:
        self.objects = sample.values
        self.comparison = comparison
        self.entry = entry
        self.values = {**values, **sample.positions}
        self.begins = sample.is_first and entry.instance is not None
        self.suffix = suffix
        self.half_types = half_types
        self.inputs = list(zip(entry.inputs, sample.inputs, strict=True))
        self.steps: list[tuple[int, Any]] = []
        """For each output, the distance of the elements that are compared, and their values."""
        for want in with_extents(entry.function, sample.outputs):
            flat = want.reshape(-1)
            step = max(1, flat.size // _MOST)
            self.steps.append((step, flat[::step]))

    @property
    def compared(self) -> list[tuple[Parameter, tuple[int, Any]]]:
        """The outputs that have elements, with `steps` of them."""
        pairs = zip(self.entry.outputs, self.steps, strict=True)
        return [(p, s) for p, s in pairs if p.slot.dtype != HANDLE and (s[1].size or p.slot.size == 0)]

    def tables(self) -> list[str]:
        """The expected outputs, and the inputs that are not drawn."""
        lines: list[str] = []
        if self.objects is not None:
            words = [(f"given{self.suffix}", self.objects.memory), (f"expected{self.suffix}", self.objects.expected)]
            for n, image in words:
                lines += draws.table(f"const int64_t {n}", [_word(w) for w in image.tolist()])
        for p, (_, values) in self.compared:
            lines += draws.table(f"const double {p.name}_expected{self.suffix}", [_number(v) for v in values.tolist()])
        for p, value in self.inputs:
            lines += draws.given_values(p, value, self.suffix)
        return lines

    def statements(self) -> list[str]:
        """Fills the inputs, runs, and compares."""
        lines = [f"  {self.entry.instance.name}_init(&instance);"] if self.begins and self.entry.instance else []
        for p, value in self.inputs:
            lines += draws.fill(p, value, value_at(p.slot.size, self.values), self.suffix)
        arguments = ["&instance"] if self.entry.instance is not None else []
        if self.objects is not None:
            lines += [
                f"  memcpy(memory, given{self.suffix}, sizeof given{self.suffix});",
                f"  memory[0] = (int64_t)sizeof given{self.suffix};",
                "  memory[1] = (int64_t)sizeof memory;",
            ]
            arguments.append(f"(struct {self.entry.data.struct} *)(void *)memory" if self.entry.data else "")
        lengths = [str(self.values[s]) for s in self.entry.symbols]
        arguments += [*lengths, *(p.name + "_data" for p in self.entry.tensors)]
        run = self.entry.run
        if self.entry.arena_size:
            run = self.entry.run_with
            arguments = ["arena", "size", *arguments]
            lines += [f"  size = {self.entry.arena_size}({', '.join(lengths)});", "  arena = malloc(size);"]
        lines += [
            f"  code = {run}({', '.join(arguments)});",
            f'  if (code) {{ printf("{run} failed: error %d\\n", code); return 1; }}',
            *(["  free(arena);"] if self.entry.arena_size else []),
        ]
        if self.objects is not None and self.comparison is not None:
            lines += self._compare_values(self.objects, self.comparison)
        for p, (step, values) in self.compared:
            element = f"{p.name}_data[i * {step}u]"
            wide = (
                f"(double){FROM_BITS[p.slot.dtype].name}({element})" if p.slot.dtype in HALVES else f"(double){element}"
            )
            allowed = _allowed(_coarsest(p.slot.dtype, self.half_types), values)
            expected = f"{p.name}_expected{self.suffix}[i]"
            lines += [
                f"  for (i = 0; i < {values.size}u; ++i)",
                f'    wrong += differs("{p.name}", i * {step}u, {wide}, {expected}, {allowed!r});',
            ]
        return lines

    def _compare_values(self, objects: SampleValues, comparison: ValueComparison) -> list[str]:
        """Compares the values among the outputs, and those of the inputs, whose references may have been written."""
        largest = comparison.largest(objects.expected)
        allowed = [repr(_TOLERANCE.get(_coarsest(d, self.half_types), 0.0) * largest[d]) for d in comparison.dtypes]
        lines = ["  {", f"    static const double allowed[] = {{{', '.join(allowed) or '0'}}};"]
        lines.append("    memset(seen, 0, sizeof seen);")
        roots = [(p, handle) for n, handle in objects.inputs.items() for p in [self.entry.inputs[n]]]
        outputs = zip(self.entry.outputs, self.steps, strict=True)
        roots += [(p, int(values[0])) for p, (_, values) in outputs if p.slot.dtype == HANDLE]
        for p, handle in roots:
            arguments = f'"{p.name}", memory, {p.name}_data[0], expected{self.suffix}, {handle}, allowed'
            lines.append(f"    wrong += differ({arguments});")
        return [*lines, "  }"]


def memory_of_values(name: str, words: int) -> list[str]:
    """The memory for values, with as many bytes as the region beside that many words."""
    return [f"static int64_t memory[{name.upper()}_ARENA_SIZE / 8 + {words}];"]


def _word(value: int) -> str:
    return f"INT64_C({value})" if value > -(1 << 63) else "INT64_MIN"


def with_extents(function: HostFunction, outputs: Sequence[Any]) -> list[Any]:
    """The arrays of the outputs, with the extents of those that values decide behind them."""
    import numpy as np

    return [*outputs, *(np.array(outputs[n].shape, "int64") for n in function.extents_of)]


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
