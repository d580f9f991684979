"""Random programs that take and give values of data types: compiled, they give what the interpreter gives."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import irtool
from irtool.diagnostics import IrError, ToolError
from irtool.driver.artifact import Artifact
from irtool.interp.random_inputs import random_inputs
from irtool.interp.values import Data, Reference
from irtool.ir import Module
from tests.fuzz.compiled import Compiled, ProgramText
from tests.fuzz.programs import data_program_text, program_module
from tests.fuzz.trial import EndlessError, limited_steps

RUNS = 3
"""Inputs of each program."""


def run_data_programs(seeds: Sequence[int]) -> Iterator[Compiled]:
    """The outcomes of the programs of these seeds, in order."""
    for seed in seeds:
        yield _run(seed)


def _run(seed: int) -> Compiled:
    module = program_module(seed, data_program_text)
    if module is None:
        return Compiled(seed, "unevaluated", "its types are not known")
    rng = random.Random(f"compiled data {seed}")
    options: dict[str, Any] = {"opt_level": rng.choice((0, 2, 3)), "math": "strict"}
    if rng.random() < 0.5:
        options["sanitize"] = ("undefined",)
    pipeline = tuple(f"{k}={v}" for k, v in options.items())
    main = module["main"]
    cases = []
    for n in range(RUNS):
        inputs = random_inputs(main, seed + n, module)  # type: ignore[arg-type]  # @main is drawn
        try:
            with limited_steps(), np.errstate(all="ignore"):
                cases.append((inputs, irtool.evaluate(module, inputs)))
        except (EndlessError, IrError) as error:
            return Compiled(seed, "unevaluated", str(error), pipeline)
    return outcome_of(seed, module, cases, options)


def outcome_of(
    seed: int,
    module: Module,
    cases: Sequence[tuple[Any, Any]],
    options: Mapping[str, Any],
    step_of: Callable[[Artifact], Callable[[Any], Any]] = lambda artifact: artifact.run,
    **build: Any,
) -> Compiled:
    """The outcome of a program that is compiled with these flags and level, for inputs and the values that they should give.

    `step_of`: the function of a build that takes the next inputs.
    """
    pipeline = tuple(f"{k}={v}" for k, v in options.items())
    flags = {k: v for k, v in options.items() if k != "opt_level"}
    try:
        artifact = irtool.build(module, opt_level=options["opt_level"], flags=flags, **build)
        if not artifact.files:
            return Compiled(seed, "failed", f"it is compiled when it runs: {artifact.report['warnings']}", pipeline)
        step = step_of(artifact)
        for inputs, want in cases:
            difference = difference_of_values(want, step(inputs))
            if difference:
                return Compiled(seed, "failed", difference, pipeline)
    except ToolError as error:
        kind = "refused" if "region is full" in str(error) else "failed"
        return Compiled(seed, kind, str(error), pipeline)
    except Exception as error:  # noqa: BLE001 - whatever leaves the compiler is what is looked for
        return Compiled(seed, "failed", f"{type(error).__name__}: {error}", pipeline)
    return Compiled(seed, "agreed", "", pipeline)


def difference_of_values(want: Any, got: Any) -> str:
    """The first place where two values differ; empty if they agree."""
    stack = [(want, got)]
    while stack:
        a, b = stack.pop()
        if isinstance(a, Reference) and isinstance(b, Reference):
            stack.append((a.value, b.value))
        elif isinstance(a, tuple) and isinstance(b, tuple):
            names = [v.constructor.name if isinstance(v, Data) else "" for v in (a, b)]
            if names[0] != names[1] or len(a) != len(b):
                return f"{a!r} was expected, and {b!r} is there"
            stack += zip(a, b, strict=True)
        else:
            x, y = np.asarray(a), np.asarray(b)
            if x.shape != y.shape or x.dtype != y.dtype:
                return f"{x.dtype}{list(x.shape)} was expected, and {y.dtype}{list(y.shape)} is there"
            if not np.allclose(x.astype("float64"), y.astype("float64"), rtol=1e-4, atol=1e-4, equal_nan=True):
                return f"{x.tolist()} was expected, and {y.tolist()} is there"
    return ""


def write_data_program(outcome: Compiled, folder: Path) -> Path:
    """Keeps a failure as its program, with the message in front."""
    return write_program(outcome, folder, "data", data_program_text)


def write_program(outcome: Compiled, folder: Path, name: str, text: ProgramText) -> Path:
    """Keeps a failure as its program, with the message in front, in a file of that name with the seed behind it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}_{outcome.seed}.relay"
    about = "\n".join(f"// {line}" for line in [*outcome.message.splitlines(), *outcome.pipeline])
    path.write_text(f"{about}\n{text(outcome.seed)}", encoding="utf-8")
    return path
