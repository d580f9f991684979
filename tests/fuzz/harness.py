"""Many programs compiled as one, run one after the other: what each gives, against what the interpreter gives."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.ir import Module
from irtool.ir.values import value_leaves
from irtool.passes.instruments.values import difference
from tests.driver.sanitizers import MAIN, SANITIZE, harness


@dataclass(frozen=True)
class Program:
    """A module whose `@main` is compared.

    Attributes:
        name: of the C that was made of it, in a folder where other programs are, too.
        inputs: its arguments.
        want: its result in the interpreter.
        options: those of the build.
        report: what the build reports.
        small_teams: threads run it as a team however little there is to do.
    """

    name: str
    module: Module
    inputs: Sequence[Any]
    want: Any
    options: dict[str, Any] = field(default_factory=dict)
    report: dict[str, Any] = field(default_factory=dict)
    small_teams: bool = False

    def built(self, folder: Path) -> Program:
        """The same with its C in the folder. Raises IrError where there is none."""
        flags = {"weights": "inline", "mcpu": "native", **self.options}
        levels = {"opt_level": flags.pop("opt_level")} if "opt_level" in flags else {}
        target = f"c{{{','.join(f'{k}={json.dumps(v)}' for k, v in flags.items())}}}"
        with pytest.MonkeyPatch.context() as patch:
            if self.small_teams:
                patch.setattr("irtool.backends.c.program.REGION_WORK", 1)
            artifact = irtool.build(self.module, out_dir=folder, name=self.name, emit="c", target=target, **levels)
        return replace(self, report=artifact.report)


class ToolError(Exception):
    """The C compiler refused what was written, or the program died."""


def run_together(programs: Sequence[Program], folder: Path, sanitize: bool) -> list[str]:
    """For each program, where C differs from the interpreter; empty where it does not.

    Raises ToolError where the C does not compile, or dies: then each has to be tried alone.
    """
    names, functions, data = [p.name for p in programs], [], bytearray()
    reports = [p.report for p in programs]
    for program in programs:
        writes = "".join(f"  fwrite(a{i}, 1, {t['bytes']}u, out);\n" for i, t in enumerate(program.report["outputs"]))
        first = harness(program.name, program.report).replace("(FILE *file)", "(FILE *file, FILE *out)", 1)
        offset = first.rindex("\n", 0, first.index("  free("))
        functions.append(first[: offset + 1] + writes + "  (void)out;\n" + first[offset + 1 :])
        for leaf in value_leaves(tuple(program.inputs)):
            data += np.ascontiguousarray(leaf).tobytes()
    calls = [
        '  FILE *out = fopen("outputs.raw", "wb");',
        *(f"  check_{n}(file, out);" for n in names),
        "  fclose(out);",
    ]
    text = MAIN.format(
        headers="\n".join(f'#include "{n}.h"' for n in names), functions="\n".join(functions), calls="\n".join(calls)
    )
    (folder / "main.c").write_text(text)
    (folder / "inputs.raw").write_bytes(bytes(data))
    flags = [*(SANITIZE if sanitize else ["-O1"]), *["-fopenmp"] * any(p.options.get("openmp") for p in programs)]
    sources = ["main.c", *(f"{n}.c" for n in names)]
    _tool(["cc", "-std=c99", "-w", *flags, "-march=native", "-o", "all", *sources, "-lm"], folder)
    _tool(["./all"], folder)
    raw_outputs = (folder / "outputs.raw").read_bytes()
    if len(raw_outputs) != sum(t["bytes"] for r in reports for t in r["outputs"]):
        raise ToolError(f"the outputs are {len(raw_outputs)} bytes")
    wrong, place = [], 0
    for program in programs:
        leaves = []
        for w in value_leaves(program.want):
            leaves.append(np.frombuffer(raw_outputs[place : place + w.nbytes], w.dtype).reshape(w.shape))
            place += w.nbytes
        wrong.append(_differences(value_leaves(program.want), leaves))
    return wrong


def _differences(want: Sequence[Any], got: Sequence[Any]) -> str:
    differences = []
    for n, (w, g) in enumerate(zip(want, got, strict=True)):
        near = 2e-2 if w.dtype.itemsize == 2 and w.dtype.kind not in "iu" else 1e-4
        text_difference = difference(w, g, near, near, f".{n}")
        differences += [text_difference] if text_difference else []
    return "; ".join(differences)


def _tool(command: Sequence[str], folder: Path) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "3"}
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=300, env=environment)
    except subprocess.TimeoutExpired:
        raise ToolError(f"{command[0]} goes on after 300 s") from None
    if done.returncode:
        printed = (done.stdout + done.stderr).decode(errors="replace")
        raise ToolError(f"{command[0]} ends with {done.returncode}: {printed[:1500]}")
