"""Errors in models of ONNX, and of TensorFlow Lite, whose front end has the same codes."""

from __future__ import annotations

from ...diagnostics import Code
from ...plugin.codes import code


@code("E1001")
class DamagedModel(Code):
    """A file that is no model of ONNX or TensorFlow Lite, or one that contradicts itself.

    The file is cut off, is of another format, an offset in it points outside, or its graph breaks a rule: a value that no node makes, a name
    that two nodes define, nodes that wait for each other. Export the model again; of ONNX `onnx.checker.check_model` says more.
    """

    example = """\
<ir_version: 8, opset_import: ["": 17]>
net (float[2, 3] x) => (float[2, 3] y) {
  y = Relu(z)
}
"""


@code("E1002")
class UnsupportedNode(Code):
    """An operator of ONNX or TensorFlow Lite, or a use of it, that has no form in Relay.

    All of them in a model are listed at once, with the number of nodes; custom operators of TensorFlow Lite are in one message. Export the model with another opset, or replace
    the operator in it.
    """

    example = """\
<ir_version: 8, opset_import: ["": 17]>
net (float[2, 3] x) => (float[2, 3] y) {
  y = Frobnicate(x)
}
"""


@code("E1003")
class UnknownExtent(Code):
    """An extent, or another number that decides a shape, that is not known while the model is imported.

    Give the shapes of the inputs: `--shape NAME=1x3x224x224`, or `--dim batch=1` for a dimension that has a name. Where the value of an
    input decides, give that: `irtool import --value k=5`, or a file for `--params` with an array of the input's name.
    """

    example = """\
<ir_version: 8, opset_import: ["": 17]>
net (float[batch, length] x) => (float[batch, length] y) {
  y = Relu(x)
}
"""
    command = "run %s"


@code("E1004")
class UnfitInput(Code):
    """A shape, an extent or a value for an input that the model does not have, or that does not fit the input.

    `irtool info model.onnx` lists the inputs with their types; names of dimensions stand in the types. A shape has an extent for each
    axis, and those that the model fixes as they are.
    """

    example = """\
<ir_version: 8, opset_import: ["": 17]>
net (float[batch, 3] x) => (float[batch, 3] y) {
  y = Relu(x)
}
"""
    command = "check --dim bach=2 %s"


@code("W1002")
class WaitingNodes(Code):
    """Nodes that need extents which the model leaves open: calls of `onnx.node` stand for them.

    The module can be printed, checked, transformed and exported. To run or build it, give the extents: `--dim batch=1` for a
    dimension that has a name, `--shape NAME=1x3x224x224` for an input.
    """

    example = """\
<ir_version: 8, opset_import: ["": 17]>
net (float[n, m] x) => (float[k] y) {
  y = Squeeze(x)
}
"""
    command = "info %s"


@code("W1004")
class ImpossibleBranch(Code):
    """A branch of `If` that cannot be computed with the shapes at hand, and fails if a run takes it.

    Models choose among networks by an input (a sampling rate) that goes with other shapes. The interpreter then says which branch was
    taken, and a compiled program returns error 5. `--value NAME=…` fixes the input that chooses.
    """

    example = """\
<ir_version: 8, opset_import: ["": 17]>
net (bool c, float[2, 3] x) => (float[2, 3] y) {
  y = If(c) <then_branch = t () => (float[2, 3] a) { a = Relu(x) },
             else_branch = e () => (float[2, 3] b) { b = MatMul(x, x) }>
}
"""
    command = "check %s"


@code("W1001")
class DrawnNumbers(Code):
    """A model that draws random numbers: they are the same in every run of the built network.

    ONNX does not say which numbers a seed stands for. Here a node draws from Relay's generator (threefry, as in TVM): one made of the
    attribute `seed`, the number itself if it is a natural one, else its bits; or, for the n-th node without a seed, one made of
    n. Other tools draw other numbers.
    """

    example = """\
<ir_version: 8, opset_import: ["": 17]>
net (float[2, 3] x) => (float[2, 3] y) {
  noise = RandomNormalLike(x)
  y = Add(x, noise)
}
"""


@code("W1003")
class NumberedLabels(Code):
    """A classifier whose classes have strings as labels: Relay has no strings, so that a class is given by its number.

    The numbers are the places of the labels in the model's list, from 0 on; the warning lists both. Probabilities are a tensor with
    a column for each class, in the same order.
    """

    example = """\
<ir_version: 8, opset_import: ["": 17, "ai.onnx.ml": 3]>
net (float[2, 1] x) => (string[2] y, float[2, 2] z) {
  y, z = ai.onnx.ml.LinearClassifier<coefficients=[1.0, 2.0], intercepts=[0.5, 0.0], classlabels_strings=["cat", "dog"]>(x)
}
"""
