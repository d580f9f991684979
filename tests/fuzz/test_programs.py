"""Random higher-order programs: they read back as they are printed, passes keep types and values, and C computes the same."""

from __future__ import annotations

from collections import Counter

import pytest

import irtool
from irtool.driver.prepare import prepare
from irtool.interp.random_inputs import random_inputs
from irtool.passes.instruments.values import difference
from tests.fuzz.programs import program_module, program_text
from tests.fuzz.text_trial import check_text
from tests.fuzz.trial import EndlessError, limited_steps, run_program_trial
from tests.pages import Recorder

PROGRAMS = 240
PARTS = 8


@pytest.mark.robustness("programs")
@pytest.mark.parametrize("part", range(PARTS))
def test_passes_keep_types_and_values(part: int, record_property: Recorder) -> None:
    size = PROGRAMS // PARTS
    record_property("inputs", size)
    outcomes = [run_program_trial(seed) for seed in range(part * size, (part + 1) * size)]
    assert [o for o in outcomes if o.kind == "failed"] == []
    kinds = Counter(o.kind for o in outcomes)
    assert kinds["kept"] > size // 5, "too few values are compared to show anything"


def test_programs_read_back() -> None:
    for seed in range(40):
        module = program_module(seed)
        if module is not None:
            check_text(module, f"program {seed}")


def test_what_is_made_for_c_computes_the_same() -> None:
    """The program that is lowered to C: copies for each choice of types, without closures, references and known data."""
    compared = 0
    for seed in range(60):
        module = program_module(seed)
        if module is None:
            continue
        inputs = random_inputs(module["main"], seed)  # type: ignore[arg-type]  # @main is drawn
        try:
            with limited_steps():
                want = irtool.evaluate(module, inputs)
            prepared = prepare(module)
        except EndlessError:
            continue
        except irtool.IrError as error:
            assert error.exit_code == 1 and all(d.span is not None for d in error.diagnostics), (
                f"program {seed}: {error}"
            )
            continue
        assert difference(want, irtool.evaluate(prepared, inputs), 1e-4, 1e-4) is None, f"program {seed}"
        compared += 1
    assert compared > 40


def test_seeds_decide() -> None:
    assert [program_text(seed) for seed in range(20)] == [program_text(seed) for seed in range(20)]
