"""Matrices that a build knows are weights of `nn.dense`, in the order in which they are stored, and stored once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irtool

onnx = pytest.importorskip("onnx")

from tests.frontends.onnx.agreement import inputs_of, parse  # noqa: E402

rng = np.random.default_rng(5)


def imported(graph: str, weights: dict[str, Any]) -> tuple[str, Any]:
    """The text of a model with these initializers, and what was built of it, once both agree with ONNX's evaluator."""
    from onnx import numpy_helper
    from onnx.reference import ReferenceEvaluator

    model = parse(graph, 21)
    model.graph.initializer.extend(numpy_helper.from_array(w, name) for name, w in weights.items())
    inputs = inputs_of(model)
    (expected,) = ReferenceEvaluator(model).run(None, inputs)
    module, params = irtool.from_onnx(model)
    np.testing.assert_allclose(irtool.evaluate(module, {**inputs, **params}), expected, 1e-4, 1e-5)
    artifact = irtool.build(module, params, cflags="-O1")
    np.testing.assert_allclose(artifact.run(inputs), expected, 1e-4, 1e-4)
    return irtool.to_text(module), artifact


def floats(*shape: int) -> Any:
    return rng.standard_normal(shape).astype("float32")


@pytest.mark.promise("weights as they are stored")
def test_a_table_that_is_gathered_and_multiplied_exists_once() -> None:
    """As the exporter on torch.export writes a head tied to an embedding; 1001 rows are no whole number of vectors."""
    text, artifact = imported(
        """net (int64[1, 4] ids) => (float[1, 4, 1001] y) {
            x = Gather(table, ids)
            t = Transpose <perm = [1, 0]> (table)
            y = MatMul(x, t)
        }""",
        {"table": floats(1001, 64)},
    )
    assert "nn.dense(%0, %table, units=1001)" in text
    assert "transpose" not in text and "nn.matmul" not in text
    assert sum(c["bytes"] for c in artifact.report["constants"]) < 1.1 * 1001 * 64 * 4


@pytest.mark.promise("weights as they are stored")
def test_weights_that_nodes_compute() -> None:
    text, _ = imported(
        """net (float[2, 3, 6] x) => (float[2, 3, 4] y) {
            wide = Cast <to = 1> (half)
            scaled = Mul(wide, by)
            y = MatMul(x, scaled)
        }""",
        {"half": floats(6, 4).astype("float16"), "by": floats(4)},
    )
    assert "nn.dense" in text and "nn.matmul" not in text


@pytest.mark.promise("weights as they are stored")
@pytest.mark.parametrize(
    ("z", "node", "call"),
    [
        ("4, 6", "t = Transpose(z) y = MatMul(x, t)", "nn.dense(%x, %z, units=4)"),
        ("6, 4", "y = MatMul(x, z)", "nn.matmul(%x, %z"),
        ("4, 6", "t = Transpose(z) y = Gemm(x, t)", "nn.dense(%x, %z, units=4)"),
    ],
)
def test_products_of_what_is_computed(z: str, node: str, call: str) -> None:
    assert call in imported(f"net (float[3, 6] x, float[{z}] z) => (float[3, 4] y) {{ {node} }}", {})[0]
