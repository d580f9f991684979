"""Variables of TensorFlow Lite models: states of the network."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError
from irtool.ir.tensor_names import state_outputs

from .build import Graph, Op, Tensor, model_bytes

pytest.importorskip("tflite")
pytestmark = pytest.mark.promise("networks in TensorFlow Lite")


def running_sum(first: list[float] | None = None) -> bytes:
    """A network that gives the sum of all inputs so far, beginning with some numbers or zeros."""
    handle = {"SharedName": "total"}
    tensors = [Tensor("x", (2,)), Tensor("v", (), "resource"), Tensor("old", (2,)), Tensor("y", (2,))]
    ops = [
        Op("VAR_HANDLE", [], [1], handle, "VarHandleOptions"),
        Op("READ_VARIABLE", [1], [2], {}, "ReadVariableOptions"),
        Op("ADD", [0, 2], [3], {}, "AddOptions"),
        Op("ASSIGN_VARIABLE", [1, 3], [], {}, "AssignVariableOptions"),
    ]
    if first is None:
        return model_bytes(Graph(tensors, ops, [0], [3]))
    once = Op("CALL_ONCE", [], [], {"InitSubgraphIndex": 1}, "CallOnceOptions")
    init = Graph(
        [Tensor("v", (), "resource"), Tensor("c", (2,), "float32", first)],
        [
            Op("VAR_HANDLE", [], [0], handle, "VarHandleOptions"),
            Op("ASSIGN_VARIABLE", [0, 1], [], {}, "AssignVariableOptions"),
        ],
        [],
        [],
        "init",
    )
    return model_bytes(Graph(tensors, [once, *ops], [0], [3]), init)


@pytest.mark.parametrize("first", [None, [10.0, 20.0]])
def test_a_variable_is_a_state(first: list[float] | None) -> None:
    module, params = irtool.from_tflite(running_sum(first))
    assert {p.name: n for p, n in state_outputs(module["main"]).items()} == {"total": 1}
    instance = irtool.build(module, params, cflags="-O1").instance()
    expected = np.array(first or [0, 0], np.float32)
    for k in range(3):
        x = np.array([k, 2 * k + 1], np.float32)
        expected = expected + x
        assert np.array_equal(instance.step([x]), expected)


def test_a_variable_in_a_branch_is_refused() -> None:
    tensors = [Tensor("c", (), "bool"), Tensor("x", (2,)), Tensor("y", (2,))]
    branch = Op("IF", [0, 1], [2], {"ThenSubgraphIndex": 1, "ElseSubgraphIndex": 1}, "IfOptions")
    inner = Graph(
        [Tensor("x", (2,)), Tensor("v", (), "resource"), Tensor("y", (2,))],
        [
            Op("VAR_HANDLE", [], [1], {"SharedName": "total"}, "VarHandleOptions"),
            Op("READ_VARIABLE", [1], [2], {}, "ReadVariableOptions"),
        ],
        [0],
        [2],
        "inner",
    )
    with pytest.raises(IrError, match="the variable total is read in a branch or a loop"):
        irtool.from_tflite(model_bytes(Graph(tensors, [branch], [0, 1], [2]), inner))


def test_a_variable_of_another_type_is_refused() -> None:
    tensors = [Tensor("x", (3,)), Tensor("v", (), "resource"), Tensor("old", (2,)), Tensor("y", (2,))]
    ops = [
        Op("VAR_HANDLE", [], [1], {"SharedName": "total"}, "VarHandleOptions"),
        Op("READ_VARIABLE", [1], [2], {}, "ReadVariableOptions"),
        Op("ASSIGN_VARIABLE", [1, 0], [], {}, "AssignVariableOptions"),
        Op("RELU", [2], [3]),
    ]
    with pytest.raises(IrError, match=r"the variable total of .*\(2\).* is used as .*\(3\)"):
        irtool.from_tflite(model_bytes(Graph(tensors, ops, [0], [3])))


def test_a_recurrent_layer_keeps_its_state() -> None:
    weights = [Tensor(n, s, "float32", np.full(s, 0.5)) for n, s in (("w", (2, 3)), ("r", (2, 2)), ("b", (2,)))]
    tensors = [Tensor("x", (1, 3)), *weights, Tensor("h", (1, 2), is_variable=True), Tensor("y", (1, 2))]
    op = Op("RNN", [0, 1, 2, 3, 4], [5], {"FusedActivationFunction": 4}, "RNNOptions")
    module, params = irtool.from_tflite(model_bytes(Graph(tensors, [op], [0], [5])))
    instance = irtool.build(module, params, cflags="-O1").instance()
    h = np.zeros((1, 2), np.float32)
    for k in range(3):
        x = np.full((1, 3), k, np.float32)
        h = np.tanh(x @ np.full((3, 2), 0.5) + h @ np.full((2, 2), 0.5) + 0.5).astype(np.float32)
        np.testing.assert_allclose(instance.step([x]), h, rtol=1e-5)
