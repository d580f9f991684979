"""One trial of the fuzzer: a random module through random passes, its types inferred afresh and its values compared."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import irtool
from irtool.diagnostics import IrError
from irtool.interp import machine
from irtool.interp.random_inputs import random_inputs
from irtool.ir import Function, Module
from irtool.passes.core.context import PassInfo, PassInstrument
from irtool.passes.instruments.values import difference, kind_of_change
from irtool.passes.instruments.verifying import Verifying
from tests.fuzz.agreement import LateError, limited
from tests.fuzz.modules import fuzz_module
from tests.fuzz.programs import program_module
from tests.passes.pipelines import ALL, PREPARED, TARGET, pipelines

STEPS = 20_000
"""Calls of functions that an evaluation may take, many times what any module here needs."""

_SEQUENCES = ("default<O1>", "default<O2>", "default<O3>")


@dataclass(frozen=True)
class Outcome:
    """What became of a trial. `kind`: kept (values are), typed (they are not compared), refused, or failed.

    Attributes:
        message: why it was refused or failed.
        pipeline: the passes; of a failure, those of them that it takes.
    """

    seed: int
    kind: str
    message: str = ""
    pipeline: tuple[str, ...] = ()


@dataclass
class Declared(PassInstrument):
    """What the passes that changed the module do to results, by their own declarations (`Pass.changes`)."""

    kinds: set[str] = field(default_factory=set)
    _before: list[Module] = field(default_factory=list)

    def run_before_pass(self, module: Module, info: PassInfo) -> None:
        self._before.append(module)

    def run_after_pass(self, module: Module, info: PassInfo) -> None:
        before = self._before.pop()
        kind = kind_of_change(info, before) if module is not before and not info.runs_others else ""
        self.kinds |= {kind} - {""}


class EndlessError(Exception):
    """An evaluation took more steps than it may."""


@contextmanager
def limited_steps(most: int = STEPS) -> Iterator[None]:
    """Within it, EndlessError leaves the interpreter after so many calls of functions; nothing else there can go on for ever."""
    original, left = machine._frame, most

    def counted(*args: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise EndlessError(f"more than {most:,} calls")
        return original(*args)

    machine._frame = counted
    try:
        yield
    finally:
        machine._frame = original


def random_pipeline(rng: random.Random) -> tuple[str, ...]:
    """1 to 6 passes with options; a pass that needs another one before it has it, mostly."""
    every = [p for name in ALL for p in (pipelines([name])[-1:] if name in PREPARED else pipelines([name]))]
    chosen = []
    for _ in range(rng.randint(1, 6)):
        one = rng.choice(_SEQUENCES) if rng.random() < 0.05 else rng.choice(every)
        name = one.split("{")[0].rsplit(",")[-1]
        prepared = PREPARED.get(name, "")
        if prepared and rng.random() < 0.15:
            one = one.removeprefix(prepared)
        chosen.append(one)
    return tuple(chosen)


def run_trial(seed: int, draw: Callable[[int], Module | None] = fuzz_module) -> Outcome:
    """The trial of the module that is drawn with this seed, its failure with as few passes as it takes."""
    module = draw(seed)
    if module is None:
        return Outcome(seed, "refused", "its types are not determined")
    pipeline = random_pipeline(random.Random(seed + 1))
    outcome = try_passes(module, pipeline, seed)
    if outcome.kind != "failed":
        return outcome
    for i in reversed(range(len(pipeline))):
        fewer = outcome.pipeline[:i] + outcome.pipeline[i + 1 :]
        again = try_passes(module, fewer, seed) if fewer else outcome
        if again.kind == "failed":
            outcome = again
    return outcome


def run_program_trial(seed: int) -> Outcome:
    """The same of a higher-order program. What goes on for a minute has failed."""
    try:
        with limited(60):
            return run_trial(seed, program_module)
    except LateError as error:
        return Outcome(seed, "failed", str(error), random_pipeline(random.Random(seed + 1)))


def try_passes(module: Module, pipeline: Sequence[str], seed: int) -> Outcome:
    """Runs the passes on the module and compares the values of both."""
    chosen = tuple(pipeline)

    def outcome(kind: str, message: str = "") -> Outcome:
        return Outcome(seed, kind, message, chosen)

    declared = Declared()
    instruments = [Verifying(), declared]
    try:
        after = irtool.run_passes(module, ",".join(chosen), opt_level=4, target=TARGET, instruments=instruments)
    except IrError as error:
        # 2: options that do not fit the module, such as ranges of tensors that it does not have
        return outcome("refused" if error.exit_code in (1, 2) else "failed", str(error))
    except Exception as error:  # noqa: BLE001 - whatever leaves a pass is what is looked for
        return outcome("failed", f"{type(error).__name__}: {error}")
    if declared.kinds or not _can_run(after):
        return outcome("typed")
    inputs = random_inputs(module["main"], seed)  # type: ignore[arg-type]
    with np.errstate(all="ignore"):
        try:
            with limited_steps():
                want = irtool.evaluate(module, inputs)
        except (EndlessError, IrError) as error:
            return outcome("typed", str(error))  # as it was drawn: no pass is to blame
        try:
            with limited_steps():
                got = irtool.evaluate(after, inputs)
        except (EndlessError, IrError) as error:
            return outcome("failed", f"cannot be evaluated any more: {error}")
        problem = difference(want, got, 1e-4, 1e-4)
        if problem is not None and not _is_sensitive(module, inputs, want):
            return outcome("failed", problem)
    return outcome("kept")


def _can_run(module: Module) -> bool:
    """Whether the interpreter has every function."""
    return all(isinstance(f, Function) and not f.attrs.get("Extern") for f in module.functions.values())


def _is_sensitive(module: Module, inputs: Sequence[Any], want: Any) -> bool:
    """Whether inputs that differ in their last digits give other results: then rounding differently may, too."""

    def moved(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(moved, value))
        scale = 1 + 3e-6
        return (value * scale).astype(value.dtype) if value.dtype.kind == "f" else value

    with limited_steps():
        got = irtool.evaluate(module, [moved(v) for v in inputs])
    return difference(want, got, 3e-5, 3e-5) is not None
