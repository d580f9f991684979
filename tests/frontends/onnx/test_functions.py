"""Functions of a model: expanded where they are called, with attributes, overloads, and graphs inside."""

from __future__ import annotations

import numpy as np
import pytest

import irtool

onnx = pytest.importorskip("onnx")

pytestmark = pytest.mark.promise("onnx functions")

X = np.array([1.0, -2.0, 3.0], "float32")


def values(model, *inputs):
    """What a model gives on the interpreter."""
    module, params = irtool.from_onnx(model)
    return irtool.evaluate(module, [*inputs, *params.values()])


def test_functions_call_functions_and_attributes_have_defaults():
    text = """<ir_version: 10, opset_import: ["": 18, "own": 1]>
    net (float[3] x) => (float[3] y, float[3] z) {
      y = own.Outer (x)
      z = own.Outer <slope = 0.5> (x)
    }
    <opset_import: ["": 18, "own": 1], domain: "own">
    Outer <slope: float = 0.25> (x) => (y) { t = own.Inner <slope: float = @slope> (x)  y = Neg (t) }
    <opset_import: ["": 18], domain: "own">
    Inner <slope: float = 9.0> (x) => (y) { y = LeakyRelu <alpha: float = @slope> (x) }
    """
    y, z = values(text.encode(), X)
    np.testing.assert_allclose(y, [-1, 0.5, -3])
    np.testing.assert_allclose(z, [-1, 1.0, -3])


def test_values_of_a_function_do_not_see_those_around_its_call():
    text = """<ir_version: 10, opset_import: ["": 18, "own": 1]>
    net (float[3] x, bool c) => (float[3] y) {
      t = Exp (x)
      u = own.Choose (c, x)
      y = Add (t, u)
    }
    <opset_import: ["": 18], domain: "own">
    Choose (c, x) => (y) {
      t = Neg (x)
      y = If (c) <then_branch = a () => (p) { p = Identity (t) }, else_branch = b () => (q) { t = Abs (x)  q = Neg (t) }>
    }
    """
    np.testing.assert_allclose(values(text.encode(), X, np.array(True)), np.exp(X) - X, rtol=1e-6)
    np.testing.assert_allclose(values(text.encode(), X, np.array(False)), np.exp(X) - abs(X), rtol=1e-6)


def test_overloads_are_told_apart_and_an_input_may_be_left_out_in_a_graph_inside():
    helper = onnx.helper
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]

    def function(overload, operator):
        definition = helper.make_function(
            "own", "F", ["x"], ["y"], [helper.make_node(operator, ["x"], ["y"])], opsets[:1]
        )
        definition.overload = overload
        return definition

    arm = helper.make_graph(
        [helper.make_node("Clip", ["x", "low"], ["p"])], "arm", [], [helper.make_tensor_value_info("p", 1, None)]
    )
    bounded = helper.make_function(
        "own",
        "Bounded",
        ["c", "x", "low"],
        ["y"],
        [helper.make_node("If", ["c"], ["y"], then_branch=arm, else_branch=arm)],
        opsets[:1],
    )
    nodes = [helper.make_node("F", ["x"], [f"t{k}"], domain="own") for k in range(2)]
    nodes[0].overload, nodes[1].overload = "up", "down"
    nodes.append(helper.make_node("Bounded", ["c", "x"], ["t2"], domain="own"))
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", 1, [3]), helper.make_tensor_value_info("c", 9, [])],
        [helper.make_tensor_value_info(f"t{k}", 1, [3]) for k in range(3)],
    )
    functions = [function("up", "Exp"), function("down", "Neg"), bounded]
    model = helper.make_model(graph, opset_imports=opsets, functions=functions, ir_version=10)
    up, down, same = values(model, X, np.array(True))
    np.testing.assert_allclose(up, np.exp(X), rtol=1e-6)
    np.testing.assert_allclose(down, -X)
    np.testing.assert_allclose(same, X)
