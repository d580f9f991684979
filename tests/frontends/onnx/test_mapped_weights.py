"""Weights of large files stay in the file until they are wanted, wherever they stand in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.frontends.onnx import external

onnx = pytest.importorskip("onnx")
pytestmark = pytest.mark.promise("ONNX models")

COUNT = 9


def write(path: Path, is_external: bool = False) -> list[Any]:
    """A model with weights whose names have different lengths, so that they stand at all kinds of offsets."""
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(1)
    names = ["w" * (i + 1) for i in range(COUNT)]
    weights = [rng.standard_normal((40, 40), dtype="float32") for _ in names]
    chain = ["x", *(f"y{i}" for i in range(COUNT))]
    nodes = [helper.make_node("MatMul", [a, n], [b]) for a, n, b in zip(chain, names, chain[1:], strict=False)]
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [3, 40]) for n in (chain[0], chain[-1]))
    initializers = [numpy_helper.from_array(w, n) for n, w in zip(names, weights, strict=True)]
    model = helper.make_model(helper.make_graph(nodes, "net", [x], [y], initializers), ir_version=8)
    model.opset_import[0].version = 17
    onnx.save(model, str(path), save_as_external_data=is_external, location="weights.bin", size_threshold=0)
    return weights


def map_of(array: Any) -> Any:
    """The map of a file that an array looks into; None where there is none."""
    mapped = None
    while array is not None:
        mapped = array if isinstance(array, np.memmap) else mapped
        array = array.obj if isinstance(array, memoryview) else getattr(array, "base", None)
    return mapped


@pytest.mark.parametrize("is_external", [False, True])
def test_large_files_are_mapped_once(is_external: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = write(tmp_path / "net.onnx", is_external)
    _, params = irtool.from_onnx(tmp_path / "net.onnx")
    assert not any(map_of(a) is not None for a in params.values()), "a small file is read"

    monkeypatch.setattr(external, "MAPPED", 1 << 12)
    monkeypatch.setattr(external, "VIEWED", 1 << 12)
    module, params = irtool.from_onnx(tmp_path / "net.onnx")
    assert len({id(map_of(a)) for a in params.values()}) == 1 and map_of(params["w"]) is not None
    for actual, expected in zip(params.values(), weights, strict=True):
        np.testing.assert_array_equal(actual, expected)
    assert is_external or not all(a.flags.aligned for a in params.values()), "the test is of no use"

    x = np.ones((3, 40), "float32")
    expected = irtool.evaluate(module, {"x": x, **params})
    np.testing.assert_allclose(irtool.build(module, params, cflags="-O1").run([x]), expected, 1e-4, 1e-4)
    np.testing.assert_allclose(irtool.build(module, cflags="-O1").run({"x": x, **params}), expected, 1e-4, 1e-4)


def test_addresses_that_are_not_aligned_do_not_reach_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    from irtool.backends import library

    artifact = irtool.build(irtool.parse('#[version = "0.0.5"]\ndef @main(%x: Tensor[(8), float64]) { exp(%x) }'))
    x = np.frombuffer(bytearray(b"\0" + np.arange(8.0).tobytes()), "uint8")[1:].view("float64")
    assert not x.flags.aligned and x.flags.writeable
    passed, addresses = list[int](), library._addresses
    monkeypatch.setattr(library, "_addresses", lambda arrays: passed.extend(addresses(arrays)) or addresses(arrays))
    for array in (x, x.astype("float64"), np.broadcast_to(x, (1, 8))[0]):
        np.testing.assert_allclose(artifact.run([array]), np.exp(np.arange(8.0)))
    assert len(passed) == 6 and not any(pointer % 8 for pointer in passed)
