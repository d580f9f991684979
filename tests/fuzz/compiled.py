"""Random modules compiled to C, many at a time, on random and on hostile inputs: each gives what the interpreter gives."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError
from irtool.driver.prepare import prepare
from irtool.interp.random_inputs import random_inputs
from irtool.ir import Function, Module, TensorType, tuple_leaves
from irtool.ir.values import value_leaves
from irtool.lower.shared import ModuleLowering
from irtool.passes.instruments.values import difference
from tests.fuzz.harness import Program, ToolError, run_together
from tests.fuzz.modules import fuzz_module
from tests.fuzz.programs import program_module, program_text
from tests.fuzz.trial import EndlessError, limited_steps

ProgramText = Callable[[int], str]
"""The text of a program, by its seed."""

SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 0.0)
"""Floats whose sums and products hang on no order, beside those that are drawn."""


@dataclass(frozen=True)
class Compiled:
    """What became of a module. `kind`: agreed, sensitive (rounding or rearranging otherwise gives another result), refused (by C, with a
    place), unevaluated (by the interpreter: endless, or refused), or failed.

    Attributes:
        message: why.
        pipeline: how it was built.
    """

    seed: int
    kind: str
    message: str = ""
    pipeline: tuple[str, ...] = ()


def run_compiled(seeds: Sequence[int]) -> Iterator[Compiled]:
    """The outcomes of the modules of these seeds, in order."""
    return run_drawn(seeds, draw_program)


def run_drawn(seeds: Sequence[int], draw: Callable[[int], Program | Compiled]) -> Iterator[Compiled]:
    """The outcomes of the programs that are drawn with these seeds, in order."""
    outcomes: dict[int, Compiled] = {}
    programs: dict[int, Program] = {}
    with TemporaryDirectory() as folder:
        for seed in seeds:
            program = build_program(seed, draw(seed), Path(folder))
            if isinstance(program, Compiled):
                outcomes[seed] = program
            else:
                programs[seed] = program
        outcomes |= compare(programs, Path(folder))
    yield from (outcomes[seed] for seed in seeds)


def compare(programs: dict[int, Program], folder: Path) -> dict[int, Compiled]:
    """The outcome of each program; all are compiled as one, and where that dies, each half for itself."""
    if not programs:
        return {}
    try:
        # Half of all batches run under sanitizers, which take longer to compile.
        outputs = run_together([*programs.values()], folder, sanitize=min(programs) // 10 % 2 == 0)
    except ToolError as error:
        if len(programs) == 1:
            ((seed, program),) = programs.items()
            return {seed: _outcome(seed, program, "failed", str(error))}
        items = [*programs.items()]
        half = len(items) // 2
        return {**compare(dict(items[:half]), folder), **compare(dict(items[half:]), folder)}
    return {
        seed: outcome_of(seed, program, output)
        for (seed, program), output in zip(programs.items(), outputs, strict=True)
    }


def outcome_of(seed: int, program: Program, output: str) -> Compiled:
    """The outcome of a program of which that was found."""
    if not output:
        return _outcome(seed, program, "agreed")
    kind = "sensitive" if is_sensitive(program) or is_rearranged(program) else "failed"
    return _outcome(seed, program, kind, output)


def _outcome(seed: int, program: Program, kind: str, message: str = "") -> Compiled:
    return Compiled(seed, kind, message, tuple(f"{k}={v}" for k, v in program.options.items()))


def draw_program(seed: int) -> Program | Compiled:
    """The module of a seed, its inputs and what the interpreter makes of them; an outcome if that is all."""
    return _draw(seed, fuzz_module(seed))


def run_compiled_programs(seeds: Sequence[int], text: ProgramText = program_text) -> Iterator[Compiled]:
    """The outcomes of the higher-order programs of these seeds, in order: all of them compile. Half of the batches keep all values that
    compilation would resolve."""
    for batch in (seeds[n : n + 10] for n in range(0, len(seeds), 10)):
        with values_at_run_time() if batch[0] // 20 % 2 else nullcontext():
            for outcome in run_drawn(batch, partial(draw_higher_order, text=text)):
                yield replace(outcome, kind="failed") if outcome.kind == "refused" else outcome


@contextmanager
def values_at_run_time() -> Iterator[None]:
    """Builds leave data, functions that are values and references to the run, whatever is known of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("irtool.driver.prepare.make_first_order", lambda module, **options: module)
        patch.setattr("irtool.lower.host.ModuleLowering", partial(ModuleLowering, in_region=True))
        yield


def draw_higher_order(seed: int, text: ProgramText = program_text) -> Program | Compiled:
    """The higher-order program of a seed, as `draw_program` has it."""
    module = program_module(seed, text)
    return Compiled(seed, "unevaluated", "its types are not known") if module is None else _draw(seed, module)


def _draw(seed: int, module: Module) -> Program | Compiled:
    rng = random.Random(f"compiled {seed}")
    main = module["main"]
    inputs = random_inputs(main, seed)
    if rng.random() < 0.4:
        inputs = [hostile(x, rng) for x in inputs]
    options = draw_options(rng)
    try:
        with limited_steps(), np.errstate(all="ignore"):
            want = irtool.evaluate(module, inputs)
    except (EndlessError, IrError) as error:
        return Compiled(seed, "unevaluated", str(error))
    if not all(isinstance(t, TensorType) for t in tuple_leaves(main.ret_type)):
        return Compiled(seed, "refused", "what it returns is no tensor")
    return Program(f"m{seed}", module, inputs, want, options)


def build_program(seed: int, program: Program | Compiled, folder: Path) -> Program | Compiled:
    """The program with its C in the folder, or its outcome where there is no C."""
    if isinstance(program, Compiled):
        return program
    module = program.module
    try:
        return program.built(folder)
    except IrError as error:
        placed = error.exit_code == 1 and all(d.span is not None or is_drawn(module) for d in error.diagnostics)
        return _outcome(seed, program, "refused" if placed else "failed", str(error))
    except Exception as error:  # noqa: BLE001 - whatever leaves the compiler is what is looked for
        return _outcome(seed, program, "failed", f"{type(error).__name__}: {error}")


def is_drawn(module: Module) -> bool:
    """Whether the module was made of nodes, none of which has a place in a text."""
    return all(f.span is None for f in module.functions.values() if isinstance(f, Function))


def draw_options(rng: random.Random) -> dict[str, Any]:
    """How a program is built."""
    options = {"opt_level": rng.choice((0, 1, 2, 3, 3, 3)), "vector": rng.random() < 0.7}
    if rng.random() < 0.2:
        options["math"] = "strict"
    return options


def hostile(value: Any, rng: random.Random) -> Any:
    """The value with some of its numbers replaced: by special floats, or by the ends of an integer type."""
    if isinstance(value, tuple):
        return tuple(hostile(v, rng) for v in value)
    x = np.array(value)
    if x.dtype.kind == "b" or not x.size or rng.random() < 0.4:
        return x
    pool: Sequence[Any] = SPECIAL
    if x.dtype.kind in "iu":
        ends = np.iinfo(x.dtype)
        pool = (ends.min, ends.max, ends.max - 1, 0)
    flat = x.reshape(-1)
    for _ in range(rng.randint(1, max(1, x.size // 4))):
        flat[rng.randrange(x.size)] = rng.choice(pool)
    return x


def is_sensitive(program: Program) -> bool:
    """Whether inputs that differ in their last digits give other results: then rounding differently may, too.

    Large integers are moved where all results are floats, as such hold no more than their first digits.
    """
    rounds, rng = all(v.dtype.kind == "f" for v in value_leaves(program.want)), np.random.default_rng(0)

    def moved(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(moved, value))
        if rounds and value.dtype.kind in "iu" and value.dtype.itemsize > 2:
            rounded = (value * (1 - 4e-6 * (1 + rng.random(value.shape)))).astype(value.dtype)
            return np.where((value > 2**20) | (value < -(2**20) if value.dtype.kind == "i" else False), rounded, value)
        return (value * (1 + 3e-6)).astype(value.dtype) if value.dtype.kind == "f" else value

    with limited_steps(), np.errstate(all="ignore"):
        got = irtool.evaluate(program.module, [moved(v) for v in program.inputs])
    return difference(program.want, got, 3e-5, 3e-5) is not None


def is_rearranged(program: Program) -> bool:
    """Whether passes give infinities and NaNs in other places than the module as drawn, on inputs that have some.

    They compute `x * s + b * s` for `(x + b) * s`, and one layer for two (FoldScaleAxis and ComposeLinear say so): it is NaN where
    an infinity meets another one. What they do with finite numbers the kind `modules` compares.
    """
    if all(np.isfinite(x).all() for x in value_leaves(tuple(program.inputs)) if x.dtype.kind == "f"):
        return False
    module = prepare(program.module, opt_level=program.options["opt_level"])
    with limited_steps(), np.errstate(all="ignore"):
        got = irtool.evaluate(module, program.inputs)
    return difference(program.want, got, 1e-4, 1e-4) is not None


def write_compiled(outcome: Compiled, folder: Path) -> Path:
    """Writes the module and its inputs with the command that compares both; returns the file."""
    return write_program(outcome, folder, draw_program(outcome.seed), fuzz_module(outcome.seed))


def write_compiled_program(outcome: Compiled, folder: Path, text: ProgramText = program_text) -> Path:
    """Writes a higher-order program with its inputs; returns the file."""
    module = program_module(outcome.seed, text)
    assert module is not None  # it has been compiled
    return write_program(outcome, folder, draw_higher_order(outcome.seed, text), module, text.__name__)


def write_program(
    outcome: Compiled, folder: Path, program: Program | Compiled, module: Module, kind: str = "compiled"
) -> Path:
    """Writes the module, and the inputs of the program where there is one, with the command that compares both; returns the file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{kind}_{outcome.seed}.relay"
    inputs = ""
    if isinstance(program, Program):
        # The names in the text, where those of all functions are told apart.
        names = [p.name for p in irtool.parse(irtool.to_text(module))["main"].params]
        np.savez(path.with_suffix(".npz"), **dict(zip(names, program.inputs, strict=True)))
        inputs = f" --inputs {path.with_suffix('.npz').name}"
    flags = ",".join(o for o in outcome.pipeline if not o.startswith("opt_level"))
    level = next((o.split("=")[1] for o in outcome.pipeline if o.startswith("opt_level")), "3")
    via = f"'c{{{flags}}}'"
    why = outcome.message.strip().splitlines()[0] if outcome.message.strip() else "failed"
    head = f"// Seed {outcome.seed}: {why}\n// RUN: irtool run -O{level} --compare interp,{via}{inputs} %s\n"
    path.write_text(head + irtool.to_text(module, types="none"))
    return path
