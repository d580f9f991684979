"""Generated C under the address and undefined-behaviour sanitizers, in a workspace full of NaN.

Many networks go into one program: each runs in its own workspace, then in one painted with 0xff bytes, and both outputs must
be the same.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError
from irtool.interp.feeds import random_inputs
from tests.pages import Recorder

ROOT = Path(__file__).parent.parent.parent
CORPUS = ROOT.parent / "shared" / "corpus" / "run.jsonl.gz"
SANITIZE = ["-g1", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
CASES = 200
CHUNK = 25

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


@pytest.mark.parametrize("vector", [True, False], ids=["vector", "scalar"])
def test_samples(vector: bool, tmp_path: Path) -> None:
    cases = []
    for sample in sorted((ROOT / "samples").glob("*.relay")):
        module = irtool.parse(sample.read_text())
        if "@main" not in sample.read_text() or "meta[" in sample.read_text():
            continue
        inputs = random_inputs(module["main"], 1)
        cases.append((module, inputs))
    assert run_all(cases, tmp_path, vector) >= 5


def corpus() -> list[dict[str, Any]]:
    if not CORPUS.exists():
        return []
    with gzip.open(CORPUS, "rt", encoding="utf-8") as lines:
        cases = [json.loads(line) for line in lines]
    plain = [
        c for c in cases if all("data" in i for i in c["inputs"]) and c["entry"] == "main" and "?" not in source(c)
    ]
    return plain[:: max(1, len(plain) // (CASES + 40))]


def source(case: dict[str, Any]) -> str:
    return case.get("text") or case.get("source") or ""


@pytest.mark.robustness("sanitized")
@pytest.mark.skipif(not CORPUS.exists(), reason="no corpus of cases here")
@pytest.mark.parametrize("chunk", range((CASES + 40) // CHUNK))
def test_cases(chunk: int, tmp_path: Path, record_property: Recorder) -> None:
    cases = []
    for case in corpus()[chunk * CHUNK : (chunk + 1) * CHUNK]:
        inputs = [
            np.array(i["data"]).astype(i["dtype"]).reshape(i["shape"])
            for i in case["inputs"]
            if i["dtype"] != "bfloat16"
        ]
        if len(inputs) == len(case["inputs"]):
            cases.append((irtool.parse(source(case)), inputs))
    run = run_all(cases, tmp_path, vector=chunk % 2 == 0)
    record_property("inputs", run)
    assert run >= len(cases) * 0.8
