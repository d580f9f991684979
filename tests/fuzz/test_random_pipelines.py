"""Random modules through random passes keep types and values; and the fuzzer notices when they do not."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import irtool
from irtool.ir import Function, Module
from irtool.passes import PassContext
from irtool.passes.simplify_expr import SimplifyExpr
from tests.fuzz.failures import write_failure
from tests.fuzz.modules import fuzz_module
from tests.fuzz.trial import EndlessError, limited_steps, run_trial, try_passes
from tests.pages import Recorder

MODULES = 2_000
PARTS = 20
ENDLESS = """#[version = "0.0.5"]
def @main(%x: int32) -> int32 { @main(add(%x, 1)) }
"""


@pytest.mark.robustness("modules")
@pytest.mark.promise("random pipelines")
@pytest.mark.parametrize("part", range(PARTS))
def test_types_and_values_are_kept(part: int, record_property: Recorder) -> None:
    size = MODULES // PARTS
    record_property("inputs", size)
    outcomes = [run_trial(seed) for seed in range(part * size, (part + 1) * size)]
    assert [o for o in outcomes if o.kind == "failed"] == []
    kinds = Counter(o.kind for o in outcomes)
    assert kinds["kept"] > size // 4, "too few values are compared to show anything"
    assert kinds["refused"] < size // 3


def test_seeds_decide() -> None:
    for seed in range(20):
        assert irtool.to_text(fuzz_module(seed)) == irtool.to_text(fuzz_module(seed))
        assert run_trial(seed) == run_trial(seed)


def test_evaluation_without_end_is_noticed() -> None:
    with limited_steps(), pytest.raises(EndlessError):
        irtool.evaluate(irtool.parse(ENDLESS), [1])


@pytest.mark.promise("random pipelines")
def test_wrong_values_are_noticed_and_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A pass that loses the body of a function is found, with no more passes than it takes."""

    def broken(self: SimplifyExpr, function: Function, module: Module, context: PassContext) -> Function:
        t = function.ret_type or function.body.checked_type
        spare = next((p for p in function.params if p.checked_type == t), None)
        return function if spare is None else Function(function.params, spare, t, (), function.attrs)

    monkeypatch.setattr(SimplifyExpr, "transform", broken)
    failures = [
        o for s in range(40) if (o := try_passes(fuzz_module(s), ("SimplifyExpr", "FoldConstant"), s)).kind == "failed"
    ]
    assert failures
    path = write_failure(failures[0], tmp_path)
    text = path.read_text()
    assert f"Seed {failures[0].seed}" in text
    run = next(line for line in text.splitlines() if "RUN:" in line)
    assert "SimplifyExpr" in shlex.split(run.split("RUN:")[1])[2]
    assert irtool.to_text(irtool.parse(text))


def test_command_line() -> None:
    command = [sys.executable, "-m", "tests.fuzz", "--count", "12", "--seed", "3", "--jobs", "2", "--seconds", "60"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONWARNINGS": "ignore"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "seeds from 3: 12 modules: " in done.stdout
    assert "seeds from 3: 12 texts: " in done.stdout
    done = subprocess.run([*command, "--jobs", "0"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "not positive" in done.stderr
