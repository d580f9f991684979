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
