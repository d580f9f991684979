"""The `main` of a program around a network: raw files in, raw files out."""

from __future__ import annotations

from ...tir.program import HostFunction
from . import room
from .names import sanitize
from .scalars import stored_type

_SHOWN = 1000
"""Characters of the usage line: C99 asks compilers for 4095 in a string."""


def write_main(name: str, entry: HostFunction, has_weights: bool) -> str:
    """A C program that reads each input from a raw file and writes each output to one, in parameter order::

        NAME [NAME.bin] x.raw … out.raw …

    Without a file for an input, it is zeros; without one for an output, it is not written. Exit code: 0, the network's own
    error code, 3 where a file cannot be read or written or has another size, or 4 for more files than there are tensors.
    """
    tensors = [(f"in{n}", s, "rb") for n, s in enumerate(entry.params)]
    tensors += [(f"out{n}", s, "wb") for n, s in enumerate(entry.results)]
    usage = " ".join([f"{name}.bin"] * has_weights + [f"{sanitize(s.name)}.raw" for _, s, _ in tensors])
    lines = [f'#include "{name}.h"', "#include <stdio.h>", ""]
    declared, prepared = room.tensors([(n, stored_type(s.dtype), s.size, s.nbytes) for n, s, _ in tensors])
    lines += [
        *declared,
        "",
        "static int transfer(const char *path, int write, void *data, size_t size) {",
        '  FILE *file = fopen(path, write ? "wb" : "rb");',
        "  size_t done;",
        "  if (!file) { perror(path); return 0; }",
        "  done = write ? fwrite(data, 1, size, file) : fread(data, 1, size, file);",
        "  if (!write && fgetc(file) != EOF) done = size + 1;",
        "  if (fclose(file) != 0) done = size + 1;",
        '  if (done != size) fprintf(stderr, "%s: expected %lu bytes\\n", path, (unsigned long)size);',
        "  return done == size;",
        "}",
        "",
        "int main(int argc, char **argv) {",
        "  int next = 1, code;",
        *prepared,
        f"  if (argc > {1 + has_weights + len(tensors)}) {{",
        f'    fputs("usage: {name} {usage if len(usage) <= _SHOWN else usage[:_SHOWN] + " ..."}\\n", stderr);',
        "    return 4;",
        "  }",
    ]
    if has_weights:
        lines += [
            f'  const char *weights = next < argc ? argv[next++] : "{name}.bin";',
            f"  code = {name}_load_weights(weights);",
            "  if (code) {",
            '    fprintf(stderr, "%s: %s\\n", weights, code == 3 ? "cannot be read" : "not the weights of this program");',
            "    return 3;",
            "  }",
        ]
    for n, s, mode in tensors:
        if mode == "rb":
            lines.append(f"  if (next < argc && !transfer(argv[next++], 0, {n}, {s.nbytes}u)) return 3;")
    lines += [f"  code = {name}_run({', '.join(n for n, _, _ in tensors)});", "  if (code) return code;"]
    for n, s, mode in tensors:
        if mode == "wb":
            lines.append(f"  if (next < argc && !transfer(argv[next++], 1, {n}, {s.nbytes}u)) return 3;")
    return "\n".join([*lines, "  return 0;", "}", ""])
