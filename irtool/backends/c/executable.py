"""The `main` of a program around a network, which reads and writes raw files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...symbolic_int import bound
from ...tir.errors import (
    BRANCH_ERROR,
    ELEMENTS_ERROR,
    MATCH_ERROR,
    OTHER_VALUES_ERROR,
    REGION_ERROR,
    UNEQUAL_ERROR,
    VALUE_ERROR,
    VALUES_FULL_ERROR,
)
from ...tir.program import Program
from ...tir.value_notes import noted_lengths, origins_of_lengths
from ..c_types import byte_count, stored_type
from ..interface.entry import EntryPoint
from ..interface.names import sanitize
from ..interface.values import VARIABLE
from . import static_memory
from .file_steps import READ_VALUES_OF_STEP, Tensor, read_and_write_steps, take_steps, written_bytes
from .profile_hooks import define_printing, print_at_exit
from .runs import outside

_ERRORS = {
    REGION_ERROR: "the region is full: data and recursion of this run take more memory than it has",
    MATCH_ERROR: "no clause of a match fits",
    VALUE_ERROR: "a value decides an extent that is outside of its bounds",
    UNEQUAL_ERROR: "lengths that have to be equal are not",
    ELEMENTS_ERROR: "a result needs elements of an axis that has fewer in this run",
    OTHER_VALUES_ERROR: "the values are not of the types of the parameters",
    VALUES_FULL_ERROR: "the results do not fit in the memory for values",
    BRANCH_ERROR: "a branch was taken that is impossible with the shapes of this program",
}
"""Messages of errors beside that of a small workspace."""

_OF_VALUES = (OTHER_VALUES_ERROR, VALUES_FULL_ERROR)
"""Errors of runs on values."""

_SHOWN = 1000
"""The most characters of the usage line: C99 requires compilers to accept 4095 in a string."""


def write_main(
    name: str,
    entry_point: EntryPoint,
    has_weights: bool,
    errors: Iterable[int] = (),
    value_lengths: Sequence[tuple[str, int, int]] = (),
    has_hooks: bool = False,
) -> str:
    """A C program that reads each input from a raw file and writes each output to one, in parameter order::

        NAME [NAME.bin] [LENGTH …] [values.raw] x.raw … out.raw … [values_out.raw]

    `values.raw` has the memory of values of data types or references, `values_out.raw` gets it with those of the results; their tensors
    are handles.
    Each length that a run decides is a number, in the order of the parameters of `NAME_run`. For a network with states, a file has the
    values of any number of steps, one behind the other, and each step has a memory of its own, whose head begins with its size.

    `-h` and `--help` print the contents of each file. Exit code: 0, 1 (not enough memory), 2 (the weights are not this program's,
    or damaged), 3 (a file cannot be read or written, or has the wrong size), 4 (wrong number of files, or a length outside of its bounds),
    or one of `errors`, with which a run may end beside 1.

    Args:
        value_lengths: name with place, least and greatest value of each extent that values decide, if runs leave notes of values outside.
        has_hooks: compiled with `-DNAME_PROFILE`, it prints the times of kernels to standard error at the end.
    """
    entry, symbols = entry_point.function, entry_point.symbols
    tensors = [(f"in{n}", s, "rb") for n, s in enumerate(entry.params)]
    tensors += [(f"out{n}", s, "wb") for n, s in enumerate(entry.results)]
    lines = [f'#include "{name}.h"', "#include <stdio.h>", "#include <string.h>", ""]
    lines[2:2] = ["#include <stdlib.h>"] if symbols else []
    data = entry_point.data if entry.values is not None else None
    reading = () if not entry.takes_values else READ_VALUES if entry_point.instance is None else READ_VALUES_OF_STEP
    transfer = _TRANSFER if entry_point.instance is None else read_and_write_steps(entry_point, tensors)
    allocated: list[str] = []
    if entry_point.arena_size:
        declared, allocated = _memory_of_lengths(entry_point, tensors)
        prepared: list[str] = []
    else:
        declared, prepared = static_memory.tensors(
            [(n, stored_type(s.dtype), bound(s.size), bound(s.nbytes)) for n, s, _ in tensors]
        )
    lines += [
        *declared,
        "",
        *(define_printing(name) if has_hooks else ()),
        *_usage(name, entry_point, has_weights),
        "",
        *transfer,
        "",
        *(_explanation(name, value_lengths) if value_lengths else ()),
        *(memory_of_values(name, reading) if data is not None else ()),
        "int main(int argc, char **argv) {",
    ]
    lines += ["  int next = 1, code;"]
    if has_weights:
        lines += [f'  const char *weights = "{name}.bin";']
    lines += [
        '  if (argc == 2 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help"))) { usage(stdout); return 0; }',
        *prepared,
    ]
    if data is not None:
        lines.append(f"  {data.declaration} = {data.begin}(memory, sizeof memory);")
        if entry_point.instance is not None:
            lines.append("  FILE *taken = NULL, *given = NULL;")
    lines += print_at_exit(name) if has_hooks else []
    count = 1 + len(symbols) + len(tensors) + entry.takes_values + entry.gives_values
    lines += [f"  int64_t {s.name};" for s in (*symbols, *(f.length.symbol for f in entry_point.positions))]
    lines += _read_weights(name, count) if has_weights else [f"  if (argc != {count}) {{ usage(stderr); return 4; }}"]
    for s in symbols:
        lines += [
            f"  {s.name} = atoll(argv[next++]);",
            f"  if ({outside(s, s.low)}) {{ usage(stderr); return 4; }}",
        ]
    lines += allocated
    explained = f"  if (code == {VALUE_ERROR}) {{ explain(); return code; }}" if value_lengths else ""
    last = (
        _run_once(name, entry_point, tensors, errors, explained)
        if entry_point.instance is None
        else take_steps(entry_point, tensors, explained)
    )
    return "\n".join([*lines, *last, "}", ""])


def described_lengths(program: Program) -> list[tuple[str, int, int]]:
    """The name with its place, and the bounds, of each extent of which runs note values outside of these."""
    places = origins_of_lengths(program)
    return [(f"{s.name} ({places[s]})" if places.get(s) else s.name, s.low, s.high) for s in noted_lengths(program)]


def _read_weights(name: str, count: int) -> list[str]:
    """The statements that load the weights from the file of the first argument, where there is one more than `count`."""
    return [
        f"  if (argc == {count + 1}) weights = argv[next++];",
        f"  else if (argc != {count}) {{ usage(stderr); return 4; }}",
        f"  code = {name}_load_weights(weights);",
        "  if (code) {",
        '    fprintf(stderr, "%s: %s\\n", weights, code == 3 ? "cannot be opened or read" : "not the weights of this program, or damaged");',
        "    return code;",
        "  }",
    ]


def _explanation(name: str, value_lengths: Sequence[tuple[str, int, int]]) -> list[str]:
    """The function that prints which extent a value decides outside of its bounds, and the value."""
    called, lows, highs = zip(*value_lengths, strict=True)
    return [
        "static void explain(void) {",
        f"  static const char *const names[] = {{{', '.join(map(_quoted, called))}}};",
        f"  static const long long lows[] = {{{', '.join(map(str, lows))}}}, highs[] = {{{', '.join(map(str, highs))}}};",
        "  int64_t value;",
        f"  const int64_t n = {name}_own_value_out_of_bounds(&value);",
        '  fprintf(stderr, "a value decides that %s is %lld, and it has to be from %lld to %lld\\n", names[n], (long long)value, lows[n], highs[n]);',
        "}",
        "",
    ]


def _quoted(text: str) -> str:
    """Text as a string of C, without characters that would end it or mean others."""
    return '"' + "".join(c for c in text if c.isprintable() and c not in '"\\?') + '"'


def _run_once(
    name: str, entry_point: EntryPoint, tensors: Sequence[Tensor], errors: Iterable[int], explained: str
) -> list[str]:
    """The statements that read the files of inputs, run, and write those of outputs."""
    entry = entry_point.function
    lines = ["  if (!read_values(argv[next++])) return 3;"] if entry.takes_values else []
    lines += [
        f"  if (!transfer(argv[next++], 0, {n}, {byte_count(s.nbytes)})) return 3;"
        for n, s, mode in tensors
        if mode == "rb"
    ]
    memory, possible = ([VARIABLE], [*errors, *_OF_VALUES]) if entry.values is not None else ([], [*errors])
    lines += [
        f"  code = {_call(entry_point, [*memory, *(s.name for s in entry_point.symbols), *(n for n, _, _ in tensors)])};",
        *([explained] if explained else []),
        *_error_lines(e for e in possible if not explained or e != VALUE_ERROR),
    ]
    lines += [
        f"  if (!transfer(argv[next++], 1, out{k}, {written_bytes(entry, k)})) return 3;"
        for k in range(len(entry.results))
    ]
    if entry.gives_values:
        lines.append("  if (!transfer(argv[next++], 1, memory, (size_t)memory[0])) return 3;")
    if not tensors:
        lines.append("  (void)next;")
    return [*lines, "  return 0;"]


def _call(entry_point: EntryPoint, arguments: Sequence[str]) -> str:
    """The call of a run, in the network's own workspace, or in that of the lengths."""
    if entry_point.arena_size:
        return f"{entry_point.run_with}({', '.join(['arena', 'size', *arguments])})"
    return f"{entry_point.run}({', '.join(arguments)})"


def _memory_of_lengths(entry_point: EntryPoint, tensors: Sequence[Tensor]) -> tuple[list[str], list[str]]:
    """Declarations of tensors and a workspace whose sizes only the lengths of a run decide, and the statements that allocate them."""
    arguments = ", ".join(s.name for s in entry_point.symbols)
    missing = " || ".join(f"!{n}" for n in ("arena", *(n for n, _, _ in tensors)))
    declared = [
        *(f"static {stored_type(s.dtype)} *{n};" for n, s, _ in tensors),
        "static void *arena;",
        "static size_t size;",
    ]
    return declared, [
        f"  size = {entry_point.arena_size}({arguments});  /* 0 for more than memory has addresses for */",
        "  arena = size ? malloc(size) : NULL;",
        *(f"  {n} = size ? calloc({byte_count(s.nbytes)} + 1u, 1) : NULL;" for n, s, _ in tensors),
        f'  if ({missing}) {{ fputs("not enough memory for these lengths\\n", stderr); return 1; }}',
    ]


def memory_of_values(name: str, reading: Sequence[str]) -> list[str]:
    """The memory for values of a program, which has room for as many bytes as the region beside those that are read, and the function
    that reads them, if it reads some."""
    lines = [
        "/* The values, as they lie in memory: a head, then objects. */",
        f"static int64_t memory[2 * ({name.upper()}_ARENA_SIZE / 8) + 16];",
        "",
    ]
    return [*lines, *reading, ""] if reading else lines


READ_VALUES = (
    "static int read_values(const char *path) {",
    '  FILE *file = fopen(path, "rb");',
    "  size_t size;",
    "  int failed;",
    "  if (!file) { perror(path); return 0; }",
    "  size = fread(memory, 1, sizeof memory, file);",
    "  failed = ferror(file) || fgetc(file) != EOF || size < 64 || size % 8 != 0;",
    "  fclose(file);",
    '  if (failed) fprintf(stderr, "%s: no values of this program\\n", path);',
    "  memory[0] = (int64_t)size;",
    "  memory[1] = (int64_t)sizeof memory;",
    "  return !failed;",
    "}",
)


def _error_lines(errors: Iterable[int]) -> list[str]:
    """The statements that say why a run failed."""
    return [
        *(f'  if (code == {e}) {{ fputs("{_ERRORS[e]}\\n", stderr); return code; }}' for e in errors),
        '  if (code) { fprintf(stderr, "the workspace is too small\\n"); return code; }',
    ]


def _usage(name: str, entry_point: EntryPoint, has_weights: bool) -> list[str]:
    """A function that prints the usage of the program, a line for each file."""
    entry, symbols = entry_point.function, entry_point.symbols
    each = "" if entry_point.instance is None else " for each step"
    outputs = [sanitize(entry.result_name(n)) for n in range(len(entry.results))]
    named = [(f"{sanitize(s.name)}.raw", s, "read") for s in entry.params]
    named += [(f"{n}.raw", s, "written") for n, s in zip(outputs, entry.results, strict=True)]
    own = {entry.results[n] for n in entry.extents_of}
    arguments = (
        [f"[{name}.bin]"] * has_weights + [s.name.upper() for s in symbols] + ["values.raw"] * entry.takes_values
    )
    arguments += [n for n, _, _ in named] + ["values_out.raw"] * entry.gives_values
    line = " ".join(arguments)
    lines = [f"usage: {name} {line if len(line) <= _SHOWN else line[:_SHOWN] + ' ...'}"]
    lines += [f"  {name}.bin  the weights; without it, the {name}.bin of this folder"] * has_weights
    lines += [f"  {s.name.upper()}  a length, {s.range}" for s in symbols]
    lines += [f"  values.raw  read: the memory of values, to which handles lead{each}"] * entry.takes_values
    for n, s, how in named:
        shape = ", ".join(map(str, s.shape))
        most = s.nbytes if entry_point.arena_size else bound(s.nbytes)
        size = f"at most {most}" if s in own else s.nbytes
        lines.append(f"  {n[:_SHOWN]}  {how}: {s.dtype}[{shape[:_SHOWN]}], {size} bytes{each}")
    lines += [f"  values_out.raw  written: the memory of values, with those of the results{each}"] * entry.gives_values
    lines.append("exit code: 0, 1 not enough memory, 2 other or damaged weights, 3 a file, 4 wrong usage")
    return ["static void usage(FILE *to) {", *(f'  fputs("{t}\\n", to);' for t in lines), "}"]


_TRANSFER = (
    "static int transfer(const char *path, int write, void *data, size_t size) {",
    '  FILE *file = fopen(path, write ? "wb" : "rb");',
    "  size_t done;",
    "  int failed;",
    "  if (!file) { perror(path); return 0; }",
    "  done = write ? fwrite(data, 1, size, file) : fread(data, 1, size, file);",
    "  if (!write && done == size && fgetc(file) != EOF) done = size + 1;",
    "  failed = ferror(file) || (write && done != size);",
    "  if (fclose(file) != 0 || failed) { perror(path); return 0; }",
    '  if (done != size) fprintf(stderr, "%s: expected %lu bytes, it has %s\\n", path, (unsigned long)size, done > size ? "more" : "less");',
    "  return done == size;",
    "}",
)
