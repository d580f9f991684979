"""The evidence beside a source: flow facts for tools that bound execution times, and the traceability matrix."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import quoteattr

from .... import __version__
from ....tir.program import Program, RunKernel, runs_of
from .bounds import Loop, loops


def flow_facts(name: str, source: str) -> str:
    """The loops of `NAME.c` with their bounds as FFX, which OTAWA reads: a loop is found by its line, so that the program needs debug information."""
    lines = ['<?xml version="1.0" encoding="UTF-8" standalone="yes"?>', "<flowfacts>"]
    function = ""
    for loop in loops(source):
        if loop.function != function:
            function = loop.function
            lines.append(f"  <!-- {function} -->")
        lines.append(f'  <loop source={quoteattr(f"{name}.c")} line="{loop.line}" maxcount="{loop.bound}"/>')
    return "\n".join([*lines, "</flowfacts>", ""])


def traceability(
    name: str,
    program: Program,
    *,
    sources: Mapping[str, str],
    functions: Mapping[str, str],
    model: str,
    options: str,
    compile_line: str,
    test: str,
    memory: Mapping[str, int],
) -> str:
    """The matrix as JSON: the operators of each function with their places in the model, the function's lines, its schedule and its loops.

    Args:
        sources: the text of each file.
        functions: the C names of kernels.
        model: the digest of the model.
        test: the program that compares values, or empty.
        memory: bytes of the arena and of the stack.
    """
    source = sources[f"{name}.c"]
    bounds = list(loops(source))
    used = runs_of(program)
    rows = []
    for kernel in program.kernels:
        function = functions[kernel.name]
        first, last = _lines_of(source, function)
        rows.append(
            {
                "function": function,
                "file": f"{name}.c",
                "lines": [first, last],
                "operators": [
                    {"operator": operator, "sources": _sources(used.get(kernel, ()), n)}
                    for n, operator in enumerate(kernel.operators)
                ],
                "calls": list(kernel.calls),
                "schedule": [[s.strategy, *s.primitives] for s in kernel.choice.stages],
                "loops": [{"line": b.line, "bound": b.bound} for b in _inside(bounds, first, last)],
                "test": test,
            }
        )
    record: dict[str, Any] = {
        "network": name,
        "tool": f"irtool {__version__}",
        "model_sha256": model,
        "options": options,
        "compile": compile_line,
        "memory": dict(memory),
        "files": {f: hashlib.sha256(t.encode()).hexdigest() for f, t in sources.items()},
        "functions": rows,
    }
    return json.dumps(record, indent=1, ensure_ascii=True) + "\n"


def _sources(uses: Sequence[RunKernel], n: int) -> list[str]:
    """The places of an operator of a kernel in the model, one for each use of the kernel."""
    return [str(use.places[n]) for use in uses if n < len(use.places)]


def _inside(bounds: Sequence[Loop], first: int, last: int) -> list[Loop]:
    return [b for b in bounds if first <= b.line <= last]


def _lines_of(source: str, function: str) -> tuple[int, int]:
    """The first and the last line of a function's definition."""
    lines = source.split("\n")
    first = next(
        n
        for n, line in enumerate(lines, 1)
        if line.startswith("static ") and f" {function}(" in line and line.endswith("{")
    )
    last = next(n for n in range(first, len(lines) + 1) if lines[n - 1] == "}")
    return first, last
