"""Steps of a network with states in a program that reads and writes raw files: each has the values of all steps, one behind the other."""

from __future__ import annotations

from collections.abc import Sequence

from ...tir.dtypes import itemsize
from ...tir.program import HostFunction, Slot
from ..c_types import byte_count
from ..interface.entry import EntryPoint

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


def read_and_write_steps(entry: EntryPoint, tensors: Sequence[Tensor]) -> list[str]:
    """The data and functions in front of `main`."""
    return [f"static struct {entry.instance.name}_net instance;" if entry.instance else "", "", *_STEP]


def take_steps(entry: EntryPoint, tensors: Sequence[Tensor]) -> list[str]:
    """The statements that open the files and take steps, as many as the files of inputs have; one step without such files."""
    assert entry.instance is not None
    values = [t for t in tensors if t[2] == "rb" and not (isinstance(t[1].nbytes, int) and t[1].nbytes == 0)]
    lines = [f"  FILE *files[{max(1, len(tensors))}];", "  int first = next, got = 0, more = 1;"] if tensors else []
    lines = [*lines, f"  {entry.instance.name}_init(&instance);"]
    for n, (_, _, mode) in enumerate(tensors):
        lines += [
            f'  files[{n}] = fopen(argv[next++], "{mode}");',
            f"  if (!files[{n}]) {{ perror(argv[first + {n}]); return 3; }}",
        ]
    arguments = ", ".join(["&instance", *(s.name for s in entry.symbols), *(name for name, _, _ in tensors)])
    run = [
        f"    code = {entry.run}({arguments});",
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
    lines += run
    for n, (name, _, mode) in enumerate(tensors):
        if mode == "wb":
            size = written_bytes(entry.function, n - len(entry.function.params))
            lines.append(f"    if (transfer(argv[first + {n}], files[{n}], 1, {name}, {size}) < 0) return 3;")
    lines.append("  }")
    for n in range(len(tensors)):
        lines.append(f"  if (fclose(files[{n}]) != 0) {{ perror(argv[first + {n}]); return 3; }}")
    lines += [f"  (void){f.length.symbol.name};" for f in entry.positions]
    if tensors:
        lines += ["  (void)got;", "  (void)more;"]
    return [*lines, "  return 0;"]


def written_bytes(f: HostFunction, n: int) -> str:
    """The bytes of a result in C, after a run: those of its elements where values decide its extents."""
    s = f.results[n]
    if n not in f.extents_of:
        return byte_count(s.nbytes)
    extents = f"out{len(f.results) - len(f.extents_of) + list(f.extents_of).index(n)}"
    return " * ".join([f"{itemsize(s.dtype)}u", *(f"(size_t){extents}[{k}]" for k in range(len(s.shape)))])
