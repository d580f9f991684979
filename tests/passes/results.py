"""What passes make of programs, in digits: `python -m tests.passes.results` writes it to `results.txt`.

One line a pipeline and a program — a golden, a drawn network, a drawn program, a layer — that it changes, and for some that it
leaves alone or refuses: six digits of the text that comes out, numbers rounded, without hashes and contents of large constants.
`python -m tests.passes.results PIPELINE PROGRAM` prints that text: compare it with that of the commit before.
"""

from __future__ import annotations

import functools
import hashlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import irtool
from irtool.diagnostics import IrError
from irtool.ir import Module
from irtool.passes.partition.libraries import libraries
from tests.backends.texts import module_of
from tests.generators import random_module
from tests.networks import random_network
from tests.ops.cases import layers
from tests.passes.pipelines import ALL, pipelines

HERE = Path(__file__).parent
FILE = HERE / "results.txt"
GOLDENS = HERE.parent / "golden" / "passes"
CHANGED, OTHERS, TRIED = 14, 2, 150
"""How many programs are written down for each pipeline, and how many are tried to find them."""


def every_pipeline() -> list[str]:
    """Each pass with each of its options, whole levels, and partitioning for each library."""
    parts = [
        f"MergeComposite{{pattern_table={name}}},AnnotateTarget{{targets={name} include_non_call_ops=False}},"
        "MergeCompilerRegions,PartitionGraph"
        for name in libraries()
    ]
    return list(dict.fromkeys([*pipelines(ALL), "default<O2>", "default<O3>", "default<O4>", *parts]))


@functools.cache
def programs() -> list[str]:
    """The names of all programs."""
    goldens = [str(p.relative_to(GOLDENS)) for p in sorted(GOLDENS.rglob("*.relay"))]
    networks = [f"network {n}" for n in range(120)]
    return [*goldens, *networks, *(f"program {n}" for n in range(40)), *layers()]


@functools.cache
def module(name: str) -> Module:
    """A program, with types. Raises IrError."""
    kind, _, number = name.partition(" ")
    if kind == "network":
        return irtool.infer_types(random_network(int(number)))
    if kind == "program":
        return irtool.infer_types(random_module(int(number), 10))
    if kind == "layer":
        return module_of(layers()[name])
    return irtool.infer_types(irtool.parse((GOLDENS / name).read_text(encoding="utf-8")))


def result(pipeline: str, name: str) -> str:
    """The text that comes out, `same` where nothing changes, or the code of the mistake."""
    given = module(name)
    try:
        made = irtool.run_passes(given, pipeline)
    except IrError as error:
        code = error.diagnostics[0].code
        return f"refused: {'without a code' if code is None else code.name}"
    if made is given:
        return "same"
    text = re.sub(r'hash="\w+"', "hash", irtool.to_text(made).partition("#[metadata]")[0])
    return re.sub(r"(?<![\w.])\d[\d.]*(e[+-]?\d+)?f\b", lambda m: f"{float(m[0][:-1]):.3g}f", text)


def line(pipeline: str, name: str) -> str:
    """What `results.txt` says of a pipeline and a program."""
    made = result(pipeline, name)
    told = made if "\n" not in made else hashlib.sha256(made.encode()).hexdigest()[:6]
    return f"{pipeline} | {name} | {told}"


def expected() -> dict[str, list[tuple[str, str]]]:
    """For each pipeline the programs, and the lines of `results.txt`."""
    found: dict[str, list[tuple[str, str]]] = {}
    for text in FILE.read_text(encoding="utf-8").splitlines():
        pipeline, name, _ = text.split(" | ")
        found.setdefault(pipeline, []).append((name, text))
    return found


def lines(pipeline: str) -> Iterator[str]:
    """Programs for a pipeline, chosen by chance, but always the same ones."""
    left = {True: CHANGED, False: OTHERS}

    def rank(name: str) -> bytes:
        own = name.startswith(pipeline.rpartition(",")[2].partition("{")[0] + "/")
        return bytes([not own]) + hashlib.sha256(f"{pipeline} {name}".encode()).digest()

    for name in sorted(programs(), key=rank)[:TRIED]:
        try:
            module(name)
        except IrError:
            continue
        made = line(pipeline, name)
        changed = not made.endswith("| same") and "| refused: " not in made
        if left[changed]:
            left[changed] -= 1
            yield made


def _again() -> Iterator[str]:
    """The lines for the programs that are written down already; pipelines that are new get programs."""
    known = expected()
    for pipeline in every_pipeline():
        if pipeline in known:
            yield from (line(pipeline, name) for name, _ in known[pipeline])
        else:
            yield from lines(pipeline)


if __name__ == "__main__":
    if sys.argv[1:]:
        print(result(*sys.argv[1:]))
    else:
        FILE.write_text("".join([f"{text}\n" for text in _again()]), encoding="utf-8")
