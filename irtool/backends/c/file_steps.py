"""Steps of a network with states in a program that reads and writes raw files: each has the values of all steps, one behind the other."""

from __future__ import annotations

from collections.abc import Sequence

from ...tir.dtypes import itemsize
from ...tir.program import HostFunction, Slot
from ..c_types import byte_count
from ..interface.entry import EntryPoint
from ..interface.values import VARIABLE

Tensor = tuple[str, Slot, str]
"""The name of an array in the program, its tensor, and the mode of its file."""

_STEP = (
    "/* Reads or writes the values of a step. Returns 1, 0 at the end of the file, and -1 for an error, which it prints. */",
    "static int transfer(const char *path, FILE *file, int write, void *data, size_t size) {",
    "  const size_t count = write ? fwrite(data, 1, size, file) : fread(data, 1, size, file);",
    "  if (count == size) return 1;",
    "  if (!write && count == 0 && !ferror(file)) return 0;",
    "  if (write || ferror(file)) perror(path);",
    '  else fprintf(stderr, "%s: the last step is not complete\\n", path);',
    "  return -1;",
    "}",
)


READ_VALUES_OF_STEP = (
    "/* Reads the memory of a step: a head that begins with its size, then objects. Returns as `transfer` does. */",
    "static int read_values(const char *path, FILE *file) {",
    "  const int got = transfer(path, file, 0, memory, 64);",
    "  const int64_t size = memory[0];",
    "  memory[1] = (int64_t)sizeof memory;",
    "  if (got != 1) return got;",
    "  if (size >= 64 && size <= memory[1] && size % 8 == 0 && transfer(path, file, 0, memory + 8, (size_t)size - 64) == 1) return 1;",
    '  fprintf(stderr, "%s: no values of this program\\n", path);',
    "  return -1;",
    "}",
)


def read_and_write_steps(entry: EntryPoint, tensors: Sequence[Tensor]) -> list[str]:
    """The data and functions in front of `main`."""
    return [f"static struct {entry.instance.name}_net instance;" if entry.instance else "", "", *_STEP]


def take_steps(entry: EntryPoint, tensors: Sequence[Tensor], explained: str = "") -> list[str]:
    """The statements that open the files and take steps, as many as the files of inputs have; one step without such files. `explained` is the
    one that ends the program after a value outside of its bounds, if it says which."""
    assert entry.instance is not None
    values = [t for t in tensors if t[2] == "rb" and not (isinstance(t[1].nbytes, int) and t[1].nbytes == 0)]
    f = entry.function
    lines = [f"  FILE *files[{max(1, len(tensors))}];"] if tensors else []
    lines += [f"  int first = next + {int(f.takes_values)}, got = 0, more = 1;"] if tensors else []
    lines += [f"  {entry.instance.name}_init(&instance);"]
    lines += _opened("taken", "next++", "rb") if f.takes_values else []
    for n, (_, _, mode) in enumerate(tensors):
        lines += _opened(f"files[{n}]", "next++", mode)
    lines += _opened("given", "next++", "wb") if f.gives_values else []
    memory = [VARIABLE] if f.values is not None else []
    arguments = ", ".join(["&instance", *memory, *(s.name for s in entry.symbols), *(name for name, _, _ in tensors)])
    run = [
        f"    code = {entry.run}({arguments});",
        *([f"  {explained}"] if explained else []),
        f'    if (code) {{ fprintf(stderr, "{entry.run} failed: error %d\\n", code); return code; }}',
    ]
    lines.append("  for (;;) {" if values else "  {")
    lines += [f"    {f.length.symbol.name} = instance.{f.name};" for f in entry.positions]
    for k, tensor in enumerate(values):
        n = tensors.index(tensor)
        lines += [
            f"    got = transfer(argv[first + {n}], files[{n}], 0, {tensor[0]}, {byte_count(tensor[1].nbytes)});",
            "    if (got < 0) return 3;",
            *(
                ["    more = got;"]
                if k == 0
                else [
                    f'    if (got != more) {{ fprintf(stderr, "%s: another number of steps\\n", argv[first + {n}]); return 3; }}'
                ]
            ),
        ]
    lines += ["    if (!more) break;"] if values else []
    if f.takes_values:
        lines.append("    if (read_values(argv[first - 1], taken) != 1) return 3;")
    elif f.gives_values:
        lines.append("    memory[0] = 64;")
    lines += run
    for n, (name, _, mode) in enumerate(tensors):
        if mode == "wb":
            size = written_bytes(entry.function, n - len(entry.function.params))
            lines.append(f"    if (transfer(argv[first + {n}], files[{n}], 1, {name}, {size}) < 0) return 3;")
    if f.gives_values:
        lines.append(
            f"    if (transfer(argv[first + {len(tensors)}], given, 1, memory, (size_t)memory[0]) < 0) return 3;"
        )
    lines.append("  }")
    for n in range(len(tensors)):
        lines.append(f"  if (fclose(files[{n}]) != 0) {{ perror(argv[first + {n}]); return 3; }}")
    if f.values is not None:
        lines += [
            "  if (taken) fclose(taken);",
            '  if (given && fclose(given) != 0) { perror("values_out.raw"); return 3; }',
        ]
    lines += [f"  (void){f.length.symbol.name};" for f in entry.positions]
    if tensors:
        lines += ["  (void)got;", "  (void)more;"]
    return [*lines, "  return 0;"]


def _opened(file: str, argument: str, mode: str) -> list[str]:
    """The statements that open a file of the command line."""
    return [
        f'  {file} = fopen(argv[{argument}], "{mode}");',
        f"  if (!{file}) {{ perror(argv[next - 1]); return 3; }}",
    ]


def written_bytes(f: HostFunction, n: int) -> str:
    """The bytes of a result in C, after a run: those of its elements where values decide its extents."""
    s = f.results[n]
    if n not in f.extents_of:
        return byte_count(s.nbytes)
    extents = f"out{len(f.results) - len(f.extents_of) + list(f.extents_of).index(n)}"
    return " * ".join([f"{itemsize(s.dtype)}u", *(f"(size_t){extents}[{k}]" for k in range(len(s.shape)))])
