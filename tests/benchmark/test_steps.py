"""The benchmark of steps: what it builds agrees with ONNX Runtime after many steps."""

from __future__ import annotations

import pytest

from benchmarks import steps

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


@pytest.mark.parametrize("name", steps.NETWORKS)
def test_networks_agree_with_the_peer(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "ROUNDS", 1)
    monkeypatch.setattr(steps, "LONG_ROUNDS", 1)
    monkeypatch.setattr(steps, "CAPACITY", 64)
    monkeypatch.setattr(steps, "LAYERS", 1)
    monkeypatch.setattr(steps, "SECONDS", 0.001)
    times = steps.measure(steps.NETWORKS[name]())
    assert len(times) == 4
    assert all(0 < t < 1e6 for t in times.values())
