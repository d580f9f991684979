"""Where weights are kept, and what is said of weights that do not fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.backends.interface import weights_file as kept
from irtool.diagnostics import IrError, ToolError, UsageError
from tests.driver.programs import dense, parse, run


@pytest.mark.parametrize("way", ["inline", "split", "file"])
@pytest.mark.parametrize("vector", [True, "none"])
def test_every_way_gives_the_same_program(way: str, vector: bool | str, tmp_path: Path) -> None:
    m, weights, x = dense()
    artifact = irtool.build(m, weights, out_dir=tmp_path, name="net", weights=way, vector=vector)
    assert {p.suffix for p in tmp_path.iterdir()} == {".h", ".c", ".so", ".json"} | (
        {".bin"} if way == "file" else set()
    )
    assert (tmp_path / "net_weights.c").exists() == (way == "split")
    want = irtool.evaluate(m, {"x": x, **weights})
    np.testing.assert_allclose(artifact.run([x]), want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("way", ["inline", "split", "file"])
def test_test_benches_of_every_way(way: str, tmp_path: Path) -> None:
    m, weights, _ = dense()
    artifact = irtool.build(m, weights, out_dir=tmp_path, name="net", weights=way, emit="exe", testbench=True)
    done = run(tmp_path / "net")
    assert done.returncode == 0 and "passed" in done.stdout
    assert str(tmp_path / "net_test.c") in artifact.files


def test_a_weights_file_is_not_taken_for_another(tmp_path: Path) -> None:
    m, weights, x = dense()
    artifact = irtool.build(m, weights, out_dir=tmp_path / "a", name="net", weights="file")
    other = {**weights, "b": weights["b"] + 1}
    irtool.build(m, other, out_dir=tmp_path / "b", name="net", weights="file")
    data = (tmp_path / "a" / "net.bin").read_bytes()
    (tmp_path / "a" / "net.bin").write_bytes((tmp_path / "b" / "net.bin").read_bytes())
    with pytest.raises(ToolError, match="not the weights of this library"):
        artifact.run([x])
    (tmp_path / "a" / "net.bin").write_bytes(data[:-64])
    with pytest.raises(ToolError, match="not the weights of this library"):
        artifact.run([x])
    (tmp_path / "a" / "net.bin").write_bytes(data)
    np.testing.assert_allclose(artifact.run([x]), irtool.evaluate(m, {"x": x, **weights}), rtol=1e-4, atol=1e-5)


def test_large_weights_never_become_source(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    m, weights, _ = dense()
    monkeypatch.setattr(kept, "SOURCE_LIMIT", 100)
    monkeypatch.setattr(kept, "INLINE_LIMIT", 100)
    for way in ("inline", "split"):
        with pytest.raises(UsageError, match="too many for C source") as caught:
            irtool.build(m, weights, out_dir=tmp_path, weights=way)
        assert "--weights=file" in caught.value.diagnostics[0].help
    assert not list(tmp_path.iterdir())
    irtool.build(m, weights, out_dir=tmp_path, emit="c")
    assert (tmp_path / "model.bin").exists()


def test_everything_wrong_with_weights_is_said_at_once() -> None:
    m, weights, _ = dense()
    wrong = {"w": weights["w"][:3], "b": weights["b"].astype("float64"), "bias": weights["b"]}
    with pytest.raises(IrError) as caught:
        irtool.build(m, wrong)
    messages = [d.message for d in caught.value.diagnostics]
    assert len(messages) == 3
    assert "'bias' is not used" in messages[0]
    assert "%w is Tensor[(32, 16), float32], but its value is float32[3, 16]" in messages[1]
    assert "%b is Tensor[(32), float32], but its value is float64[32]" in messages[2]
    assert all(d.span is not None for d in caught.value.diagnostics[1:])


def test_missing_weights_are_named_where_the_inputs_are() -> None:
    m, weights, _ = dense()
    with pytest.raises(IrError, match="no weight for the parameter %b"):
        irtool.build(m, {"w": weights["w"]}, inputs=["x"])
    with pytest.raises(IrError, match="no parameter %data"):
        irtool.build(m, weights, inputs=["data"])
    assert irtool.build(m, weights, inputs=["x"], emit="c").report["inputs"][0]["name"] == "x"


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "int64", "bool"])
@pytest.mark.parametrize("way", ["inline", "file"])
def test_constants_of_every_dtype(dtype: str, way: str) -> None:
    m = parse(f"def @main(%x: Tensor[(5), {dtype}], %w: Tensor[(5), {dtype}]) {{ (equal(%x, %w), %w) }}")
    w = np.array([1, 0, 3, 1, 0]).astype(dtype)
    if dtype == "float64":
        w[:] = [np.nan, -np.inf, 1e-310, -0.0, 0.1]
    if dtype == "int64":
        w[:] = [-(2**63), 2**63 - 1, 0, -1, 1]
    # Strict: otherwise the denormal number among them would be 0 (tests/backends/test_denormals.py), and this is about bytes.
    same, copy = irtool.build(m, {"w": w}, weights=way, math="strict").run([w])
    np.testing.assert_array_equal(copy, w)
    np.testing.assert_array_equal(same, w == w)


def test_weights_of_partly_known_shapes_are_checked_where_they_are_known() -> None:
    m = parse("def @main(%x: Tensor[(2, 4), float32], %w: Tensor[(?, 4), float32]) { nn.dense(%x, %w, units=None) }")
    for shape in ((3, 5), (3,)):
        with pytest.raises(IrError, match=r"%w is Tensor\[\(\?, 4\), float32\], but its value is"):
            irtool.build(m, {"w": np.ones(shape, "float32")}, emit="c")
    assert irtool.build(m, {"w": np.ones((3, 4), "float32")}, emit="c").report["outputs"][0]["shape"] == [2, 3]
