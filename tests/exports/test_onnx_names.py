"""Names of inputs and outputs on the way from ONNX through Relay's text and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irtool
from irtool.exports import Request
from irtool.infer import infer_types
from irtool.passes.core.bind import bind_params

onnx = pytest.importorskip("onnx")


def exported(module: Any, weights: dict[str, Any] | None = None) -> Any:
    """The ONNX model of a module, through its text."""
    from irtool.exports.onnx.format import Onnx

    module = infer_types(irtool.parse(irtool.to_text(module)))
    return Onnx().model(module, Request("net.onnx", "main", weights or {}))[0]


def names(model: Any) -> tuple[list[str], list[str]]:
    """Those of a model's inputs and outputs."""
    return [i.name for i in model.graph.input], [o.name for o in model.graph.output]


def model_of(nodes: list[Any], inputs: list[str], outputs: list[str], weights: list[str] | None = None) -> Any:
    """A model whose tensors are vectors of three floats."""
    from onnx import TensorProto, helper, numpy_helper

    def infos(of: list[str]) -> list[Any]:
        return [helper.make_tensor_value_info(n, TensorProto.FLOAT, [3]) for n in of]

    initializers = [numpy_helper.from_array(np.arange(3, dtype="float32"), n) for n in weights or ()]
    graph = helper.make_graph(nodes, "net", infos(inputs), infos(outputs), initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def node(op: str, inputs: list[str], output: str) -> Any:
    return onnx.helper.make_node(op, inputs, [output])


AWKWARD = model_of(
    [node("Add", ["image:0", "w/0"], "sum"), node("Relu", ["sum"], "out/y:0"), node("Neg", ["x"], "sum 2")],
    ["image:0", "x"],
    ["out/y:0", "sum 2"],
    ["w/0"],
)


@pytest.mark.promise("ONNX out")
def test_names_survive_the_way_through_text_whatever_is_in_them() -> None:
    module, params = irtool.from_onnx(AWKWARD)
    back = exported(module, params)
    assert names(back) == names(AWKWARD)
    assert names(exported(*irtool.from_onnx(back))) == names(AWKWARD)


@pytest.mark.promise("ONNX out")
def test_names_that_relay_can_have_take_no_attribute() -> None:
    model = model_of([node("Relu", ["image"], "scores")], ["image"], ["scores"])
    module, _ = irtool.from_onnx(model)
    assert "input_tensor_names" not in irtool.to_text(module)
    assert names(exported(module)) == (["image"], ["scores"])


@pytest.mark.promise("ONNX out")
def test_an_input_that_becomes_a_constant_takes_its_name_with_it() -> None:
    module, params = irtool.from_onnx(AWKWARD)
    bound = bind_params(module, {"image_0": np.ones(3, "float32")})
    assert names(exported(infer_types(bound), params)) == (["x"], ["out/y:0", "sum 2"])


@pytest.mark.promise("ONNX out")
def test_outputs_that_are_inputs_or_weights_or_each_other() -> None:
    from onnx.reference import ReferenceEvaluator

    model = model_of([node("Neg", ["x"], "y"), node("Identity", ["y"], "z")], ["x"], ["x", "w", "y", "z"], ["w"])
    back = exported(*irtool.from_onnx(model))
    assert names(back) == names(model)
    x = np.array([1, 2, 3], "float32")
    for actual, expected in zip(ReferenceEvaluator(back).run(None, {"x": x}), [x, np.arange(3), -x, -x], strict=True):
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.promise("ONNX out")
def test_the_name_of_an_output_is_kept_from_what_is_inside() -> None:
    text = """#[version = "0.0.5"]
def @main(%x: Tensor[(3), float32], output_tensor_names=["h", "x"]) {
  let %h = nn.relu(%x);
  (negative(%h), exp(%h))
}"""
    model = exported(irtool.parse(text))
    assert names(model) == (["x"], ["h", "x_1"])
    assert [n.output[0] for n in model.graph.node] == ["h_1", "h", "x_1"]


@pytest.mark.promise("ONNX out")
@pytest.mark.parametrize("value", ["5", "[1]", '"name"', '[["y"]]', '{"a"="b"}', "[]"])
def test_attributes_that_are_no_lists_of_names_name_nothing(value: str) -> None:
    text = f"def @main(%x: Tensor[(3), float32], input_tensor_names={value}, output_tensor_names={value}) {{ exp(%x) }}"
    assert names(exported(irtool.parse(f'#[version = "0.0.5"]\n{text}'))) == (["x"], ["output"])
