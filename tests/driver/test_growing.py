"""Builds of functions that call themselves with tensors of other extents: the interpreter's values, with bounds that follow or are stated."""

from __future__ import annotations

import ctypes
import shutil
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError, ToolError
from irtool.frontends.onnx import from_onnx
from tests.driver.growing import BOUNDS, GROWING, ROW, growing
from tests.driver.programs import parse
from tests.driver.value_lengths import leaves

pytestmark = pytest.mark.promise("value extents")
needs_clang = pytest.mark.skipif(shutil.which("clang") is None, reason="no clang")


@pytest.mark.parametrize("target", ["c", pytest.param("llvm", marks=needs_clang)])
@pytest.mark.parametrize("name", GROWING)
def test_values_and_extents_are_the_interpreters(name: str, target: str) -> None:
    network = GROWING[name]
    artifact = network.build(target)
    assert artifact.report["kernels"] and artifact.report["outputs"][0]["bytes"] == 4 * BOUNDS[name]
    for inputs in network.inputs():
        for e, a in zip(leaves(network.expected(inputs)), leaves(artifact.run(inputs)), strict=True):
            assert a.shape == e.shape and a.dtype == e.dtype
            np.testing.assert_allclose(a, e, rtol=1e-5, atol=1e-5)


def test_a_bound_that_nothing_says_is_asked_for_and_kept(tmp_path: Path) -> None:
    text = growing(f"concatenate({ROW})", limit="%n")
    with pytest.raises(
        IrError, match="the extent of axis 0 of %acc in the turns of @grow follows from values"
    ) as refused:
        irtool.build(parse(text), out_dir=tmp_path, emit="c")
    assert "--dim 'count_0<=512'" in (refused.value.diagnostics[0].help or "")
    artifact = irtool.build(parse(text), dims={"count_0": "<=5"}, emit="exe", sanitize="address,undefined")
    x = np.array([1, -2, 3], "float32")
    for n in (0, 4):
        np.testing.assert_allclose(artifact.run([np.array(n), x]), irtool.evaluate(parse(text), [np.array(n), x]))
    with pytest.raises(ToolError, match="a value decides that count_0 is 6, and it has to be from 0 to 5"):
        artifact.run([np.array(5), x])


def test_extents_that_have_to_be_equal_are_compared(tmp_path: Path) -> None:
    text = (
        "def @main(%x: Tensor[(6), float32], %n: Tensor[(1), int64]) { let %p = squeeze(argwhere(greater(%x, 0f)), axis=[1]); "
        '(%p, add(%p, dyn.full(2, %n, shape=None, dtype="int32"))) }'
    )
    irtool.build(parse(text), dims={"count_1": "<=6"}, name="net", out_dir=tmp_path)
    assert "#define NET_UNEQUAL_LENGTHS 8" in (tmp_path / "net.h").read_text()
    library = ctypes.CDLL(str(tmp_path / "net.so"))
    x = np.array([1, -1, 2, -3, 4, -5], "float32")
    outputs = [np.empty(6, "int32"), np.empty(6, "int32"), np.empty(1, "int64"), np.empty(1, "int64")]
    for n, code in ((3, 0), (2, 8), (7, 6)):
        for a in outputs:
            a.fill(77)
        pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (x, np.array([n]), *outputs)]
        assert library.net_run(*pointers) == code
        assert code or (outputs[1][:3].tolist(), outputs[3].tolist()) == ([2, 4, 6], [3])
        assert not code or all((a == 77).all() for a in outputs)


LOOP = """<ir_version: 8, opset_import: ["": 17]>
net (int64 turns, float[4] x) => (float[4] last, float[T, 4] all, float[U] found) {
  go = Constant <value = bool {1}> ()
  some = Constant <value = int64 {5}> ()
  few = Min (turns, some)
  last, all = Loop (few, go, x) <body = turn (int64 i, bool c, float[4] v) => (bool d, float[4] w, float[4] y) {
    d = Identity (c)
    w = Add (v, x)
    y = Mul (v, v)
  }>
  limit = Constant <value = float {2.0}> ()
  is_large = Greater (all, limit)
  flat = Constant <value = int64[1] {-1}> ()
  mask = Reshape (is_large, flat)
  found = Compress (all, mask)
}"""


def test_loops_of_onnx_keep_the_results_of_their_turns() -> None:
    pytest.importorskip("onnx")
    module, _ = from_onnx(LOOP.encode())
    artifact = irtool.build(module)
    assert artifact.report["kernels"]
    x = np.array([0.5, -1, 2, 1], "float32")
    for turns in (0, 1, 3, 5, 9):
        inputs = [np.array(turns), x]
        for e, a in zip(leaves(irtool.evaluate(module, inputs)), leaves(artifact.run(inputs)), strict=True):
            assert a.shape == e.shape
            np.testing.assert_allclose(a, e, rtol=1e-5)


def test_bounds_of_models_are_given_by_name() -> None:
    pytest.importorskip("onnx")
    text = """<ir_version: 8, opset_import: ["": 17]>
    net (int64[1] n) => (float[K] y) { y = ConstantOfShape (n) }"""
    module, _ = from_onnx(text.encode(), dims={"count_0": "<=4"})
    artifact = irtool.build(module)
    assert artifact.run([np.array([3])]).tolist() == [0, 0, 0]
    with pytest.raises(ToolError, match="a value decides an extent that is outside of its bounds"):
        artifact.run([np.array([5])])
