"""Errors of a quantization."""

from __future__ import annotations

from ..diagnostics import Code
from ..plugin.codes import code

_NET = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 4), float32]) {
  nn.dense(%x, ones(shape=[2, 4], dtype="float32"), units=2)
}
"""


@code("E1101")
class WrongQuantization(Code):
    """An option of a quantization with a value that it does not take.

    `irtool quantize --help` lists the options and their values.
    """

    example = _NET
    command = "quantize %s --calibrate random -o %t --keep ["


@code("E1102")
class BadSamples(Code):
    """Calibration data that do not fit the network.

    An array has the shape of its input, or has several samples: along a further axis in front, or as a multiple of the first
    extent. All inputs have equally many. Values are finite. Shapes are known: `--shape` gives one that is not.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(?, 4), float32]) {
  nn.dense(%x, ones(shape=[2, 4], dtype="float32"), units=2)
}
"""
    command = "quantize %s --calibrate random -o %t"


@code("E1103")
class NothingToQuantize(Code):
    """A function without a layer that could be computed in integers.

    Layers are convolutions and matrix products in float32, of static shapes, convolutions with constant weights: give weights with
    `--params`, shapes with `--shape`. `irtool quantize` says of each such operator why it stays as it is.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 4), float32]) {
  nn.relu(%x)
}
"""
    command = "quantize %s --calibrate random -o %t"


@code("E1104")
class NotFinite(Code):
    """A layer that gives NaN or infinity for calibration data: there is no range that holds them."""

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 4), float32]) {
  nn.dense(divide(%x, 0f), ones(shape=[2, 4], dtype="float32"), units=2)
}
"""
    command = "quantize %s --calibrate random -o %t"


@code("W1101")
class RandomRanges(Code):
    """Ranges that are measured on random inputs: ranges and errors say nothing of real data.

    `--calibrate FILE` takes samples of the application.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 16), float32]) {
  nn.dense(%x, ones(shape=[2, 16], dtype="float32"), units=2)
}
"""
    command = "quantize %s --calibrate random -o %t"


@code("W1102")
class CalibratedOnItself(Code):
    """A set of data that calibrates a network and measures it: the errors are smaller than those on other data."""

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 4), float32]) {
  nn.dense(%x, ones(shape=[1, 4], dtype="float32"), units=1)
}
"""
    command = "evaluate --load %p %s --inputs set.npz --against float --precision int8 --calibrate set.npz"
    plugin = """\
import numpy

numpy.savez("set.npz", x=numpy.ones((3, 2, 4), "float32"))
"""
