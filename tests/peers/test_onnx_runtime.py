"""ONNX Runtime computes what is exported: every operator's cases, and networks."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtool
from benchmarks.compare.exact_sums import exact_options
from irtool.exports import Request
from irtool.exports.onnx.form import Absent, form_of
from irtool.exports.onnx.format import Onnx
from irtool.exports.weights import fit_weights
from irtool.infer import infer_types
from irtool.interp.evaluate import evaluate
from irtool.ir.values import value_leaves
from tests.peers.onnx_cases import LIST, listed, run

SHARED = Path(irtool.__file__).parent.parent.parent / "shared"
ZOO = SHARED / "zoo"
LARGE = ("bert_base", "gpt2", "vgg16", "vit_base")
NETWORKS = sorted(p.parent.name for p in ZOO.glob("*/expected.npz"))


@pytest.fixture(autouse=True)
def _peers(request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("--peers"):
        pytest.skip("needs --peers")
    pytest.importorskip("onnxruntime")


@pytest.mark.promise("ONNX out")
def test_the_cases_of_every_operator_give_the_same() -> None:
    """The list of those that do not has a reason for each, and gets no longer."""
    assert listed() == LIST.read_text(encoding="utf-8")
    for line in LIST.read_text(encoding="utf-8").splitlines():
        name, _, reason = line.partition(": ")
        form = form_of(name.split()[0])
        assert form is not None
        assert isinstance(form, Absent) or form.differs or reason == "no kernel", f"{line}: the page does not say it"


@pytest.mark.promise("ONNX out")
@pytest.mark.parametrize("opset", [18, 21, 28])
def test_other_opsets_change_no_result(opset: int) -> None:
    """Newer operators that the runtime has no kernel for yet aside."""
    known = set(LIST.read_text(encoding="utf-8").splitlines())
    assert not [
        line
        for line in listed(opset).splitlines()
        if line not in known and not re.search("no kernel|needs opset", line)
    ]


@pytest.mark.promise("ONNX out")
@pytest.mark.parametrize("network", NETWORKS)
def test_networks_give_what_tvm_gave(network: str) -> None:
    zoo = _tool()
    values = zoo.feeds(network)
    inputs = json.loads((ZOO / network / "info.json").read_text())["inputs"]
    module = infer_types(irtool.parse((ZOO / network / "model.relay").read_text(), filename=network))
    weights = fit_weights(module, "main", {n: v for n, v in values.items() if n not in inputs})
    model, _ = Onnx().model(module, Request("net.onnx", "main", weights))
    assert {i.name for i in model.graph.input} == set(inputs)
    zoo.check(network, run(model, values), rtol=1e-4)


@pytest.mark.promise("ONNX out")
@pytest.mark.parametrize("network", [n for n in NETWORKS if n not in LARGE])
def test_networks_come_back(network: str) -> None:
    """What is exported is imported again, and gives what TVM gave."""
    zoo = _tool()
    values = zoo.feeds(network)
    inputs = json.loads((ZOO / network / "info.json").read_text())["inputs"]
    module = infer_types(irtool.parse((ZOO / network / "model.relay").read_text(), filename=network))
    weights = fit_weights(module, "main", {n: v for n, v in values.items() if n not in inputs})
    again, params = irtool.from_onnx(Onnx().model(module, Request("net.onnx", "main", weights))[0])
    values.update(params)
    actual = evaluate(infer_types(again), [values[p.name] for p in again["main"].params])
    zoo.check(network, value_leaves(actual), rtol=1e-4)


@pytest.mark.promise("ONNX out")
def test_weights_beside_the_model_are_found(tmp_path: Path) -> None:
    import onnxruntime

    module = infer_types(
        irtool.parse(
            '#[version = "0.0.5"]\ndef @main(%x: Tensor[(3, 4), float32], %w: Tensor[(300, 4), float32]) '
            "{ nn.dense(%x, %w, units=300) }"
        )
    )
    w, x = np.arange(1200, dtype="float32").reshape(300, 4), np.ones((3, 4), "float32")
    for file in Onnx(external_data=True).write(module, Request("net.onnx", "main", {"w": w})):
        (tmp_path / file.name).write_bytes(b"".join(file.parts))
    (actual,) = onnxruntime.InferenceSession(str(tmp_path / "net.onnx")).run(None, {"x": x})
    np.testing.assert_allclose(actual, x @ w.T)


def _tool() -> Any:
    sys.path.insert(0, str(SHARED / "tools"))
    try:
        import zoo
    finally:
        sys.path.pop(0)
    return zoo


@pytest.mark.promise("quantized operators as QDQ")
@pytest.mark.parametrize("quantized", ["exact", "qdq"])
def test_quantized_layers(quantized: str, tmp_path: Path) -> None:
    """Exact nodes give irtool's integers; of the others the runtime makes its integer kernels, which round once."""
    import onnx
    import onnxruntime

    from tests.exports.quantized import exported, layers

    module, weights = layers()
    x = np.random.default_rng(1).standard_normal((1, 3, 8, 8)).astype("float32")
    options = exact_options()
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    model = exported(module, weights, quantized=quantized)
    results = onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, {"x": x})
    allowed = (0, 0, 1e-4) if quantized == "exact" else (1, 2, 30.0)
    for got, want, step in zip(results, evaluate(module, {"x": x, **weights}), allowed, strict=True):
        assert np.abs(got.astype("float64") - want).max() <= step
    kinds = {n.op_type for n in onnx.load(tmp_path / "optimized.onnx").graph.node}
    assert ({"QLinearConv", "QLinearAdd", "QGemm"} <= kinds) == (quantized == "qdq")
