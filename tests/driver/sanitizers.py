"""Programs that run many cases under AddressSanitizer and UndefinedBehaviorSanitizer."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import irtool
from irtool.diagnostics import IrError

SANITIZE = ["-g1", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]

MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
{headers}
static void *input(FILE *file, size_t size) {{
  void *data = malloc(size ? size : 1);
  if (fread(data, 1, size, file) != size) exit(9);
  return data;
}}
{functions}
int main(void) {{
  FILE *file = fopen("inputs.raw", "rb");
  if (!file) return 9;
{calls}
  fclose(file);
  return 0;
}}
"""


def harness(name: str, report: dict[str, Any]) -> str:
    """A C function that runs one network twice; everything on the heap, so that the sanitizer sees its ends."""
    ins, outs = report["inputs"], report["outputs"]
    lines = [f"static void check_{name}(FILE *file) {{"]
    lines += [f"  void *i{n} = input(file, {t['bytes']}u);" for n, t in enumerate(ins)]
    for n, t in enumerate(outs):
        lines += [
            f"  void *a{n} = calloc({t['bytes']}u + !{t['bytes']}u, 1), *b{n} = calloc({t['bytes']}u + !{t['bytes']}u, 1);"
        ]
    upper = name.upper()
    first = ", ".join([f"i{n}" for n in range(len(ins))] + [f"a{n}" for n in range(len(outs))])
    second = [f"i{n}" for n in range(len(ins))] + [f"b{n}" for n in range(len(outs))]
    lines += [
        f"  void *arena = malloc({upper}_ARENA_SIZE);",
        f"  memset(arena, 0xff, {upper}_ARENA_SIZE);",
        f'  if ({name}_run({first}) || {name}_run_with({", ".join(["arena", f"{upper}_ARENA_SIZE", *second])})) {{ puts("{name}"); exit(2); }}',
    ]
    for n, t in enumerate(outs):
        lines.append(f'  if (memcmp(a{n}, b{n}, {t["bytes"]}u)) {{ puts("{name}"); exit(3); }}')
    frees = [f"i{n}" for n in range(len(ins))] + [f"{k}{n}" for n in range(len(outs)) for k in "ab"] + ["arena"]
    return "\n".join([*lines, *(f"  free({f});" for f in frees), "}"])


def run_all(cases: Sequence[tuple[irtool.Module, Sequence[Any]]], folder: Path, vector: bool = True) -> int:
    """Builds and runs cases; how many there were that could be compiled."""
    names, functions, data = [], [], bytearray()
    for n, (module, inputs) in enumerate(cases):
        name = f"m{n}"
        try:
            artifact = irtool.build(
                module,
                out_dir=folder,
                name=name,
                emit="c",
                weights="inline",
                opt_level=3 if n % 2 else 1,
                vector=vector,
            )
        except IrError:
            continue  # dynamic shapes: nothing to compile
        if sum(t["bytes"] for t in artifact.report["inputs"]) != sum(np.asarray(x).nbytes for x in inputs):
            continue
        names.append(name)
        functions.append(harness(name, artifact.report))
        for x in inputs:
            data += np.ascontiguousarray(x).tobytes()
    text = MAIN.format(
        headers="\n".join(f'#include "{n}.h"' for n in names),
        functions="\n".join(functions),
        calls="\n".join(f"  check_{n}(file);" for n in names),
    )
    (folder / "main.c").write_text(text)
    (folder / "inputs.raw").write_bytes(bytes(data))
    sources = ["main.c", *(f"{n}.c" for n in names)]
    command = ["cc", "-std=c99", *SANITIZE, *(["-march=native"] if vector else []), "-o", "all", *sources, "-lm"]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[:4000]
    done = subprocess.run(["./all"], cwd=folder, capture_output=True, text=True, check=False, env={**os.environ})
    assert done.returncode == 0, (done.stdout + done.stderr)[:4000]
    return len(names)
