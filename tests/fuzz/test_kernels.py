"""Operators that are worth a schedule, and imported models, give in C what they give in the interpreter, on all sorts of processors."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import irtool
from tests.fuzz.compiled import Compiled, build_program
from tests.fuzz.harness import Program
from tests.fuzz.kernel_modules import SIZES, KernelMaker
from tests.fuzz.kernels import draw_import, draw_kernel, run_imports, run_kernels, write_kernel
from tests.pages import Recorder

KERNELS, MODELS = 40, 40
"""In a minute of the processor; `make fuzz` draws any number."""

pytestmark = pytest.mark.promise("compiled")


@pytest.mark.robustness("compiled kernels")
@pytest.mark.parametrize("part", range(4))
def test_kernels(part: int, record_property: Recorder) -> None:
    size = KERNELS // 4
    record_property("inputs", size)
    outcomes = [*run_kernels(range(part * size, (part + 1) * size))]
    assert [o for o in outcomes if o.kind == "failed"] == []
    assert Counter(o.kind for o in outcomes)["agreed"] > size // 2, "too few are compared to show anything"


@pytest.mark.robustness("compiled models")
@pytest.mark.parametrize("part", range(2))
def test_models(part: int, record_property: Recorder) -> None:
    pytest.importorskip("onnx")
    size = MODELS // 2
    record_property("inputs", size)
    outcomes = [*run_imports(range(part * size, (part + 1) * size))]
    assert [o for o in outcomes if o.kind == "failed"] == []
    assert Counter(o.kind for o in outcomes)["agreed"] > size // 5, "too few are compared to show anything"


WANTED = {
    "words of bytes": "dot4_",
    "several processors": "IRT_LEVELS",
    "threads in teams": "irt_worker *worker",
    "vectors": "vector_size",
}
"""What the C of some of the first kernels has in it."""


def test_new_code_is_reached(tmp_path: Path) -> None:
    """What schedules do only where it pays is done for some of the small operators that are drawn."""
    texts = []
    for seed in range(60):
        program = build_program(seed, draw_kernel(seed), tmp_path)
        if isinstance(program, Program):
            texts.append((tmp_path / f"{program.name}.c").read_text())
    assert len(texts) > 40
    assert [what for what, text in WANTED.items() if not any(text in t for t in texts)] == []


def test_seeds_decide() -> None:
    first, second = (draw_kernel(4) for _ in range(2))
    assert isinstance(first, Program) and isinstance(second, Program)
    assert irtool.to_text(first.module) == irtool.to_text(second.module)
    assert (first.options, first.small_teams) == (second.options, second.small_teams)
    for a, b in zip(first.inputs, second.inputs, strict=True):
        np.testing.assert_array_equal(a, b)


def test_numbers_of_a_processor_are_its_own() -> None:
    from irtool.tir import vector_target

    assert [n for n in SIZES if n not in vector_target.SIZES] == []


def test_failures_are_written(tmp_path: Path) -> None:
    seed = next(s for s in range(20) if isinstance(draw_kernel(s), Program))
    path = write_kernel(Compiled(seed, "failed", "differs", ("opt_level=2", "vector=auto")), tmp_path)
    assert "irtool run -O2 --compare interp,'c{vector=auto}'" in path.read_text()
    assert irtool.structural_equal(irtool.infer_types(irtool.parse(path.read_text())), KernelMaker(seed).module())


def test_large_models_are_left_out() -> None:
    pytest.importorskip("onnx")
    kinds = Counter(
        (outcome.kind if isinstance(outcome, Compiled) else "program") for outcome in map(draw_import, range(30))
    )
    assert kinds["program"] > 5 and "failed" not in kinds
