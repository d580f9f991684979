"""A C program that times one run of a network, for tuning."""

from __future__ import annotations

from collections.abc import Sequence

from ...symbolic_int import nominal
from ...tir.memory import CACHE_LINE
from ...tir.program import Slot
from ...tir.symbols import with_equal_lengths
from ..c_types import stored_type
from ..interface.entry import EntryPoint
from ..timing import TimingConditions

_FILLS = {
    "float32": "(float)(0.5 + part())",
    "float64": "0.5 + part()",
    "float16": "(uint16_t)(0x3800 + (next() & 0x3ff))",
    "bfloat16": "(uint16_t)(0x3f00 + (next() & 0x7f))",
    "int8": "(int8_t)(next() & 7)",
    "uint8": "(uint8_t)(next() & 7)",
}
"""Numbers around one: no zeros, whose products cost some processors nothing, and no subnormals. Other integers are indices, and
zero."""


def write_timer(name: str, entry: EntryPoint, conditions: TimingConditions) -> str:
    """A program that prints the seconds of one run at the upper bounds of its lengths, or usual ones without bounds, the best of those that fit the time.

    Inputs that are `cold` have copies that take turns, so that they come from the same memory as a network's weights.
    """
    lengths = with_equal_lengths(entry.function, {s: s.typical for s in entry.symbols})
    arguments = [str(lengths[s]) for s in entry.symbols]
    declared: list[str] = []
    prepared: list[str] = []
    for n, p in enumerate(entry.tensors):
        copies = conditions.copies(nominal(p.slot.nbytes)) if n in conditions.cold else 1
        declared.append(f"static {stored_type(p.slot.dtype)} *t{n};")
        prepared += _prepared(n, p.slot, copies)
        arguments.append(f"t{n} + (round % {copies}u) * {_stride(p.slot)}u" if copies > 1 else f"t{n}")
    return "\n".join(
        [
            "#define _POSIX_C_SOURCE 199309L",
            f'#include "{name}.h"',
            "#include <stdio.h>",
            "#include <stdlib.h>",
            "#include <time.h>",
            "",
            *declared,
            "static unsigned round;",
            *_CLOCK,
            *(["static void *arena;", "static size_t size;"] if entry.arena_size else []),
            f"static int run(void) {{ ++round; return {_call(entry, arguments)}; }}",
            "",
            "int main(void) {",
            *_workspace(entry, [lengths[s] for s in entry.symbols]),
            *prepared,
            *_measuring(conditions.seconds),
        ]
    )


def _call(entry: EntryPoint, arguments: Sequence[str]) -> str:
    """The call of a run, in a workspace of its own or in one that the program has taken."""
    if entry.arena_size:
        return f"{entry.run_with}({', '.join(['arena', 'size', *arguments])})"
    return f"{entry.run}({', '.join(arguments)})"


def _workspace(entry: EntryPoint, lengths: Sequence[int]) -> list[str]:
    """The statements that take a workspace for these lengths, if its size depends on them."""
    if not entry.arena_size:
        return []
    return [f"  size = {entry.arena_size}({', '.join(map(str, lengths))});", "  if (!(arena = malloc(size))) return 1;"]


def _stride(slot: Slot) -> int:
    """Elements from one copy to the next, which has the same alignment to cache lines."""
    return max(1, -(-nominal(slot.size) // CACHE_LINE) * CACHE_LINE)


def _prepared(n: int, slot: Slot, copies: int) -> Sequence[str]:
    fill = _FILLS.get(slot.dtype, "0")
    count = _stride(slot) * copies
    return [
        f"  t{n} = room({count}u * sizeof *t{n});",
        f'  if (!t{n}) {{ fputs("out of memory\\n", stderr); return 1; }}',
        f"  for (size_t i = 0; i < {count}u; ++i) t{n}[i] = {fill};",
    ]


_CLOCK = (
    "static uint32_t state = 1;",
    "static uint32_t next(void) { return state = state * 1664525u + 1013904223u; }",
    "static double part(void) { return next() / 4294967296.0; }",
    "static void *room(size_t bytes) {",
    "  char *made = malloc(bytes + 64);",
    "  return made ? made + (64 - (uintptr_t)made % 64) % 64 : 0;",
    "}",
    "static double now(void) {",
    "#ifdef CLOCK_MONOTONIC",
    "  struct timespec t;",
    "  clock_gettime(CLOCK_MONOTONIC, &t);",
    "  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;",
    "#else",
    "  return (double)clock() / CLOCKS_PER_SEC;",
    "#endif",
    "}",
)


def _measuring(seconds: float) -> Sequence[str]:
    """A first run, then groups of runs long enough for the clock."""
    return [
        "  (void)part;",
        "  double start, best, took;",
        "  int times, code = run();",
        '  if (code) { fprintf(stderr, "error %d\\n", code); return 1; }',
        "  start = now();",
        "  run();",
        "  best = now() - start;",
        "  times = best > 0 && best < 5e-5 ? (int)(5e-5 / best) + 1 : 1;",
        "  best = 1e30;",
        f"  for (double end = now() + {seconds!r}; now() < end || best > 1e29;) {{",
        "    start = now();",
        "    for (int n = 0; n < times; ++n) run();",
        "    took = (now() - start) / times;",
        "    if (took < best) best = took;",
        "  }",
        '  printf("%.9e\\n", best);',
        "  return 0;",
        "}",
        "",
    ]
