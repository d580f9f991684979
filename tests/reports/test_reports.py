"""Small inputs with their right values, of public bug reports and of trials, where a folder of them stands beside the checkout."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
REPORTS = ROOT.parent / "shared" / "reports"
RUNNER = REPORTS / "run.py"
IRTOOL = Path(sys.executable).parent / "irtool"

pytestmark = pytest.mark.skipif(not RUNNER.is_file(), reason="no reports beside the checkout")

CASES = sorted(p.parent.name for p in REPORTS.glob("*/case.json"))
TRIALS = sorted(p for p in REPORTS.glob("*.onnx") if p.with_suffix(".expected.npz").exists())


@pytest.mark.parametrize("name", CASES)
def test_reported_case(name: str) -> None:
    pytest.importorskip("onnx")
    done = subprocess.run(
        [sys.executable, str(RUNNER), "--irtool", str(IRTOOL), "--only", name, "-v"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-4000:]}{done.stderr[-2000:]}"


@pytest.mark.parametrize("via", ["interp", "c"])
@pytest.mark.parametrize("model", TRIALS, ids=lambda p: p.stem)
def test_trial_has_the_expected_values(model: Path, via: str, tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    inputs = model.with_suffix(".inputs.npz")
    outputs = tmp_path / "out.npz"
    subprocess.run(
        [str(IRTOOL), "run", str(model), "--via", via, "--inputs", str(inputs), "--no-random", "-o", str(outputs)],
        check=True,
    )
    with np.load(outputs) as results, np.load(model.with_suffix(".expected.npz")) as expected:
        assert len(results.files) == len(expected.files)
        for result, right in zip(
            (results[n] for n in sorted(results.files)), (expected[n] for n in sorted(expected.files)), strict=True
        ):
            assert result.shape == right.shape
            np.testing.assert_allclose(result, right, rtol=1e-4, atol=1e-5)


def test_models_of_the_kinds_that_pretrained_models_show() -> None:
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    done = subprocess.run(
        [sys.executable, str(REPORTS / "real" / "all.py"), str(IRTOOL)], capture_output=True, text=True, check=False
    )
    # Speed is no matter of a test: the models that all.py times are judged by benchmarks.
    faults = [line for line in done.stdout.splitlines() if line.startswith("NOT") and "times as slow" not in line]
    assert not faults and done.stdout.strip(), f"{done.stdout}{done.stderr[-2000:]}"
