"""One trial of a text: nothing but `IrError` leaves any stage, and whatever is printed on the way reads back as it is."""

from __future__ import annotations

import random
import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import zip_longest
from typing import Any

import irtool
from irtool.diagnostics import IrError, render
from irtool.ir import Module
from irtool.passes.core.runner import has_untyped_functions
from tests.fuzz.agreement import LateError, limited
from tests.fuzz.mutators import Seeds, mutate
from tests.fuzz.text_seeds import pool, wide_pool
from tests.fuzz.trial import random_pipeline
from tests.passes.pipelines import TARGET

LONGEST_TRIAL = 120
"""Seconds after which a stage counts as endless; all of them take milliseconds."""


@dataclass(frozen=True)
class TextOutcome:
    """What became of a text. `kind`: refused, read, typed, passed, built, or failed.

    Attributes:
        message: why it was refused or failed.
        pipeline: the passes that were run; `build` alone is a build.
    """

    seed: int
    kind: str
    text: str = field(repr=False, default="")
    message: str = ""
    pipeline: tuple[str, ...] = ()


class FailureError(Exception):
    """A promise was broken."""


class StuckError(BaseException):
    """A stage went on for too long. No handler of exceptions stops it."""


@contextmanager
def limited_time(seconds: int = LONGEST_TRIAL) -> Iterator[None]:
    """Within it, StuckError is raised after so many seconds of the processor's time (in the main thread, where signals arrive): a
    machine that is busy with other things is no defect.
    """

    def stop(*args: Any) -> None:
        raise StuckError(f"not done after {seconds} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@cache
def seeds_to_mutate(wide: bool = False) -> Seeds:
    """The seeds taken apart; `wide`, every text that there is."""
    return Seeds(wide_pool() if wide else pool())


def draw_text(seeds: Seeds, seed: int) -> tuple[str, tuple[str, ...]]:
    """The text of a seed, and what to do with it beyond typing: of ten nine nothing, or passes, now and then a build."""
    draw = random.Random(seed)
    text = mutate(draw.choice(seeds.texts), seeds, draw)
    what = draw.random()
    if what < 0.06:
        return text, random_pipeline(draw)[: draw.randint(1, 2)]
    if what < 0.11:
        return text, ("default<O3>",)
    return text, ("build",) if what < 0.12 else ()


def run_text_trial(seed: int, wide: bool = False) -> TextOutcome:
    """The trial of the text of this seed."""
    text, pipeline = draw_text(seeds_to_mutate(wide), seed)
    return try_text(text, pipeline, seed)


def try_text(text: str, pipeline: tuple[str, ...] = (), seed: int = 0) -> TextOutcome:
    """Takes a text through reading, printing, inference and the passes, in limited time and memory.

    A text is a page: one that takes gigabytes has found a defect, and must not take the machine with it, nor may its reduction,
    each step of which is such a trial.
    """
    kind = "refused"

    def outcome(kind: str, error: BaseException | str = "") -> TextOutcome:
        name = "" if isinstance(error, str | IrError | FailureError) else f"{type(error).__name__}: "
        return TextOutcome(seed, kind, text, f"{name}{error}", pipeline)

    try:
        with warnings.catch_warnings(), limited_time(), limited(LONGEST_TRIAL):
            warnings.simplefilter("ignore")
            for kind in _stages(text, pipeline):  # noqa: B007 - the last is what was reached
                pass
    except IrError as error:
        if error.exit_code not in (1, 2) or not render(error):
            return outcome("failed", error)
        return outcome(kind, error)
    except (Exception, StuckError, LateError) as error:  # noqa: BLE001 - whatever else leaves a stage is what is looked for
        return outcome("failed", error)
    return outcome(kind)


def _stages(text: str, pipeline: tuple[str, ...]) -> Iterator[str]:
    """The names of the stages that are done, one by one."""
    module = irtool.parse(text)
    check_text(module, "what was read")
    yield "read"
    module = irtool.infer_types(module)
    if has_untyped_functions(module):
        raise FailureError("inference left a function without type, and did not say so")
    check_text(module, "the module with types")
    yield "typed"
    if pipeline == ("build",):
        irtool.build(module, emit="c")
        yield "built"
    elif pipeline:
        module = irtool.run_passes(module, ",".join(pipeline), target=TARGET, opt_level=3)
        check_text(module, f"what {','.join(pipeline)} made", exactly=False)
        yield "passed"


_FORMS: tuple[dict[str, Any], ...] = ({}, {"types": "none"}, {"types": "none", "portable_names": True})


def check_text(module: Module, what: str, exactly: bool = True) -> None:
    """Asserts that the module is printed, that the text is read, as an equal module, and prints as the same text again.

    Without type comments it reads back as the same program, too. What passes made is not compared `exactly`: where a type is
    wider for being inferred from all of the text at once, the comments say so.
    """
    for form in _FORMS:
        prefix = what + "".join(f", with {k}={v}," for k, v in form.items())
        try:
            text = irtool.to_text(module, **form)
        except IrError as error:
            raise FailureError(f"{prefix} has no text: {error}") from None
        try:
            again = irtool.parse(text)
        except IrError as error:
            raise FailureError(f"{prefix} prints as a text that is refused: {error}\n{text}") from None
        printed = irtool.to_text(again, **form)
        same = _equal(module, again)
        if same and (printed == text or (form and "/*" in printed)):
            continue
        if same and not exactly and len({_program(m) for m in (again, module)}) == 1:
            continue
        kind = "prints as another text" if same else "is another module"
        raise FailureError(f"{prefix} read back {kind}: {_first_difference(text, printed)}")


def _program(m: Module) -> str:
    return irtool.to_text(m, types="none").partition("#[metadata]")[0]


def _equal(a: Module, b: Module) -> bool:
    """Whether modules are equal but for lowered functions: these are read as text, which stands as it is."""
    relay = [Module(m.relay_functions, m.type_definitions) for m in (a, b)]
    return irtool.structural_equal(*relay)


def _first_difference(a: str, b: str) -> str:
    line_pairs = zip_longest(a.splitlines(), b.splitlines(), fillvalue="")
    return next((f"{x}\n{y}" for x, y in line_pairs if x != y), a)
