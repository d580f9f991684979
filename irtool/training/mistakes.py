"""Errors of a training step."""

from __future__ import annotations

from ..diagnostics import Code
from ..plugin.codes import code


@code("E1201")
class WrongTraining(Code):
    """An option of a training step with a value that it does not take.

    `irtool train-step --help` lists the options and their values.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 4), float32]) {
  nn.dense(%x, ones(shape=[2, 4], dtype="float32"), units=2)
}
"""
    command = "train-step %s -o %t --loss mse --learning-rate -1"


@code("E1202")
class NothingToTrain(Code):
    """A network without a weight that a step could update.

    Weights are parameters with values, from `--params` or from the ONNX model: arrays of floating-point numbers that are not the
    running statistics of a batch normalization. Constants in the text are none: `irtool convert` makes parameters of them.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 4), float32]) {
  nn.relu(%x)
}
"""
    command = "train-step %s -o %t --loss mse"


@code("E1203")
class NoLoss(Code):
    """An output that the loss is not defined for.

    `cross_entropy` takes scores of classes along an axis, and `mse` a tensor, of floating-point numbers.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 4), float32], %w: Tensor[(2), float32]) {
  argmax(%x, axis=[1])
}
"""
    command = "train-step %s -o %t --loss mse --value w=1,2 --params-format embedded"


@code("W1201")
class DroppedOutputs(Code):
    """Outputs without a part in the loss: the step leaves them out.

    `--output NAME` chooses the output that the loss is computed from.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 4), float32], %w: Tensor[(3, 4), float32]) {
  (nn.dense(%x, %w, units=3), exp(%x))
}
"""
    command = "train-step --load %p --params values.npz %s -o %t --loss mse"
    plugin = """\
import numpy

numpy.savez("values.npz", w=numpy.ones((3, 4), "float32"))
"""
