"""Initializers that are inputs as well are defaults, and parameters of `@main` keep their names beside other functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irtool
from irtool.cli import run
from tests.frontends.onnx.agreement import parse

pytestmark = pytest.mark.promise("networks in ONNX")

GRAPH = """net (float[2,3] x, float[3,2] w, float[2] b, float s) => (float[2,2] y)
<float[3,2] w = {1,0,0,1,0,0}, float[2] b = {100,200}, float s = {2}> { t = MatMul(x, w) u = Mul(t, s) y = Add(u, b) }"""
X = np.arange(6, dtype="float32").reshape(2, 3)


@pytest.mark.parametrize("overrides", [{}, {"b": np.float32([1, 2])}, {"b": np.float32([1, 2]), "s": np.float32(3)}])
@pytest.mark.parametrize("via", ["interp", "c"])
def test_arrays_take_the_place_of_defaults(overrides: dict[str, Any], via: str, tmp_path: Any) -> None:
    import onnx

    onnx.save(parse(GRAPH), tmp_path / "m.onnx")
    np.savez(tmp_path / "i.npz", x=X, **overrides)
    paths = [str(tmp_path / n) for n in ("m.onnx", "i.npz", "o.npz")]
    words = ["run", paths[0], "--inputs", paths[1], "-o", paths[2], "--via", via, "--no-random"]
    assert run(words) == 0
    actual = next(iter(np.load(paths[2]).values()))
    np.testing.assert_array_equal(actual, X[:, :2] * overrides.get("s", 2) + overrides.get("b", np.float32([100, 200])))


def test_defaults_in_python() -> None:
    module, params = irtool.from_onnx(parse(GRAPH))
    assert set(params) == {"w", "b", "s"}
    actual = irtool.evaluate(module, {**params, "x": X, "b": np.zeros(2, "float32")})
    np.testing.assert_array_equal(actual, X[:, :2] * 2)
    module, params = irtool.from_onnx(parse(GRAPH), values={"b": np.zeros(2, "float32")})
    np.testing.assert_array_equal(irtool.evaluate(module, {**params, "x": X}), X[:, :2] * 2)


@pytest.mark.parametrize("name", ["x", "i", "h", "loop_0", "x1"])
def test_inputs_keep_their_names_beside_loops(name: str) -> None:
    lstm = f"y, {name}h, c = LSTM<hidden_size=2>({name}, w, r) z, zh, zc = LSTM<hidden_size=2>({name}, w, r)"
    graph = f"net (float[4,1,3] {name}, float[1,8,3] w, float[1,8,2] r) => (float[a,b,c,d] y, float[a,b,c,d] z) {{ {lstm} }}"
    module, _ = irtool.from_onnx(parse(graph))
    assert len(module.functions) > 1
    again = irtool.parse(irtool.to_text(module))
    assert [p.name for p in again["main"].params] == [name, "w", "r"]
