"""Executions of each kernel in one run: a build of the program counts it.

::

    loop {                                    loop {
      h = kernel(h)               ⇒             executions = count_executions(executions, [0, 1])
    }                                           h = kernel(h)
                                              }

Steps of one body (of a function, an arm, a loop) run equally often, so there is one count for each body. The counts are a further
result of every function, which it passes on to those that it calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ..backends.base import Backend, Request, Sample, VectorTarget
from ..driver.outputs import write_files
from ..driver.signature import Signature
from ..driver.stages import run_rest, stages_from
from ..files import temporary_folder
from ..symbolic_int import Symbol
from ..tir.expr import Load, Var
from ..tir.forms import Map
from ..tir.kernel import Kernel
from ..tir.program import (
    CONSTANT,
    RESULT,
    CallFunction,
    Fail,
    Fork,
    HostFunction,
    Loop,
    Program,
    RunKernel,
    Slot,
    Step,
    steps,
)
from ..tir.stmt import Buffer, Store

_NAME = "count_executions"


def count_executions(
    program: Program, backend: Backend, target: VectorTarget, stage: str, values: Sequence[Any]
) -> dict[RunKernel, int]:
    """The number of executions of each step that runs a kernel, in a run of the entry on these values.

    `program` is as `stage` finds it; where it has to be built and run, it is used up by that. Raises ToolError if it does not
    compile, or the run fails.
    """
    bodies = [body for f in program.functions.values() for body in _bodies(f)]
    if not _has_control_flow(program):
        return {s: 1 for body in bodies for s in body if isinstance(s, RunKernel)}
    numbered = [(n, s) for n, body in enumerate(bodies) for s in body if isinstance(s, RunKernel)]
    _insert_counts(program, bodies)
    run_rest(program, target, stages_from(stage))
    counts = _run(program, backend, values)
    return {s: int(counts[n]) for n, s in numbered}


def _has_control_flow(program: Program) -> bool:
    every = (s for f in program.functions.values() for s in steps(f.body))
    return any(isinstance(s, Fork | CallFunction | Fail | Loop) for s in every)


def _bodies(function: HostFunction) -> Iterator[list[Step]]:
    """The body of a function, and those of its arms and loops."""
    yield function.body
    for s in steps(function.body):
        if isinstance(s, Fork):
            yield from s.arms
        elif isinstance(s, Loop):
            yield from s.bodies


def _insert_counts(program: Program, bodies: Sequence[list[Step]]) -> None:
    """Gives each function the counts as its last result, and each body a step that adds 1 to its own."""
    import numpy as np

    kernel = _counting_kernel(len(bodies))
    rows = np.eye(len(bodies), dtype="int64")
    ones = [Slot(f"one{n}", row.shape, "int64", CONSTANT, row) for n, row in enumerate(rows)]
    of_body = {id(body): one for body, one in zip(bodies, ones)}
    for f in program.functions.values():
        counts = Slot(_NAME, (len(bodies),), "int64", RESULT)
        for body in list(_bodies(f)):
            for s in body:
                if isinstance(s, CallFunction):
                    s.outputs = [*s.outputs, counts]
            body.insert(0, RunKernel(kernel, [counts, of_body[id(body)]], [counts]))
        f.structure = (f.structure, None)
        f.results = [*f.results, counts]
    program.kernels = [*program.kernels, kernel]
    program.constants = [*program.constants, *ones]


def _counting_kernel(size: int) -> Kernel:
    """Adds two tensors of int64; the first one may be the result."""
    counts, one, out = (Buffer(name, (size,), "int64") for name in ("counts", "one", "out"))
    i = Var("i")
    added = Map(((i, size),), (Store(out, (i,), Load(counts, (i,)) + Load(one, (i,))),))
    return Kernel(_NAME, [counts, one, out], [added]).measured()


def _run(program: Program, backend: Backend, values: Sequence[Any]) -> Any:
    """The counts of one run of the entry."""
    entry = program.functions[program.entry]
    signature = Signature(entry.name, entry)
    with temporary_folder() as work, ExitStack() as stack:
        folder = Path(work)
        request = Request("counted", "so", _no_samples, folder, stack)
        sources = backend.emit(program, request)
        built = backend.build(sources, request, folder)
        files = {
            n: c for n, c in (*sources.files.items(), *built.files.items()) if n in (sources.weights, built.library)
        }
        loaded = folder / "loaded"
        write_files(loaded, files)
        weights = loaded / sources.weights if sources.weights else None
        arrays, outputs, lengths = signature.call(values)
        outputs[-1].fill(0)
        network = backend.load(loaded / built.library, request.name, weights)
        if lengths:
            network.run(arrays, outputs, "", lengths)
        else:
            network.run(arrays, outputs)
    return outputs[-1]


def _no_samples(function: HostFunction, lengths: Mapping[Symbol, int]) -> list[Sample]:
    raise AssertionError("a build that counts has no test bench")
