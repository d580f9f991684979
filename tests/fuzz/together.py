"""Random programs with everything at once, step by step: data, closures, references, recursion, lengths of the run, and states."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import irtool
from irtool.diagnostics import IrError
from irtool.infer.lengths import symbols_of_params, with_lengths
from irtool.interp.random_inputs import random_inputs
from irtool.interp.steps import Steps
from irtool.ir import Module
from irtool.ir.tensor_names import state_outputs
from tests.fuzz.compiled import Compiled
from tests.fuzz.data import outcome_of, write_program
from tests.fuzz.programs import program_module, together_program_text
from tests.fuzz.trial import EndlessError, limited_steps

STEPS = 4


def run_together_programs(seeds: Sequence[int]) -> Iterator[Compiled]:
    """The outcomes of the programs of these seeds, in order."""
    for seed in seeds:
        yield _run(seed)


def _run(seed: int) -> Compiled:
    module = program_module(seed, together_program_text)
    if module is None:
        return Compiled(seed, "unevaluated", "its types are not known")
    rng = random.Random(f"compiled together {seed}")
    options: dict[str, Any] = {"opt_level": rng.choice((0, 2, 3)), "math": "strict"}
    in_process = seed % 3 != 0
    if not in_process:
        options["sanitize"] = ("address", "undefined")
    elif rng.random() < 0.5:
        options["sanitize"] = ("undefined",)
    pipeline = tuple(f"{k}={v}" for k, v in options.items())
    has_states = bool(state_outputs(module["main"]))
    steps = Steps(module)
    cases = []
    for n in range(STEPS if in_process else 1):
        inputs = _inputs(module, seed + n, rng)
        try:
            with limited_steps(), np.errstate(all="ignore"):
                cases.append((inputs, steps.step(inputs) if has_states else irtool.evaluate(module, inputs)))
        except (EndlessError, IrError) as error:
            return Compiled(seed, "unevaluated", str(error), pipeline)
    return outcome_of(
        seed,
        module,
        cases,
        options,
        lambda artifact: artifact.instance().step if has_states and in_process else artifact.run,
        emit="so" if in_process else "exe",
    )


def _inputs(module: Module, seed: int, rng: random.Random) -> list[Any]:
    """Values of the parameters but for states, at a length of their own."""
    main = module["main"]
    lengths = {s: rng.randint(s.low, s.high) for s in symbols_of_params(main)}
    fixed = with_lengths(module, lengths) if lengths else module
    states = {p.name for p in state_outputs(main)}
    values = random_inputs(fixed["main"], seed, fixed)
    return [v for p, v in zip(main.params, values, strict=True) if p.name not in states]


def write_together_program(outcome: Compiled, folder: Path) -> Path:
    """Keeps a failure as its program, with the message in front."""
    return write_program(outcome, folder, "together", together_program_text)
