"""Errors in requests to build."""

from __future__ import annotations

from ..diagnostics import Code
from ..plugin.codes import code


@code("E0611")
class Oversized(Code):
    """A tensor too large for any memory: more than 2^40 bytes."""

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(1048576, 1048576), float32]) {
  exp(%x)
}
"""
    command = "check --target=c %s"


@code("E0612")
class NoSuchEntry(Code):
    """An entry function missing from the module.

    `--entry` names the function to compile or run; the default is `main`.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: float32) {
  exp(%x)
}
"""
    command = "build --emit=c --entry=other --no-cache -o %t %s"


@code("E0613")
class WeightsDoNotFit(Code):
    """A mismatch of weights and parameters: a weight without a parameter, or a parameter without a weight."""

    example = """\
#[version = "0.0.5"]
def @main(%x: float32) {
  exp(%x)
}
"""
    command = "build --emit=c --input=y --no-cache -o %t %s"


@code("E0614")
class NotAStraightLine(Code):
    """A network that the graph executor cannot run: it supports straight-line code of calls on tensors only."""

    example = """\
#[version = "0.0.5"]
def @main(%c: bool, %x: float32) {
  if (%c) { exp(%x) } else { %x }
}
"""
    command = "build --emit=c --graph %t/graph.json --no-cache -o %t %s"


@code("W0601")
class BakedInputs(Code):
    """An input whose value decides the code: it is compiled as a constant, anew for each other value.

    `irtool run` compiles for the values at hand. `irtool build`, whose code takes any values, refuses such a network.
    """

    example = """\
#[version = "0.0.5"]
def @main(%s: Tensor[(1), int64], %x: Tensor[(4), float32]) {
  (dyn.zeros(%s, shape=None, dtype="float32"), exp(%x))
}
"""
    command = "run --load %p --compare interp,c %s --input s=s.npy"
    plugin = """\
import numpy

numpy.save("s.npy", numpy.int64([3]))
"""


@code("W0602")
class LowRatio(Code):
    """A lower precision whose results are mostly noise: their signal-to-noise ratio is below 20 dB.

    The message names the layers with the least ratios. `--keep REGEX` leaves layers in float32; calibration data from the
    application give better ranges than random inputs.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 4), float32], %s: Tensor[(4), float32], %w: Tensor[(1, 4), float32]) {
  nn.dense(multiply(%x, %s), %w, units=1)
}
"""
    command = "run --load %p %s --params values.npz --precision int8 --calibrate set.npz"
    plugin = """\
import numpy

numpy.savez("values.npz", s=numpy.float32([1e4, 1, 1, 1]), w=numpy.float32([[0, 1, 1, 1]]))
numpy.savez("set.npz", x=numpy.float32([[[1, 2, 3, 4], [4, 3, 2, 1]]]))
"""


@code("E0615")
class DoesNotFit(Code):
    """A network that needs more flash or RAM than a board has, or than `--flash-limit` and `--ram-limit` allow.

    Flash has the code and the constants of the network with the functions of the C library that it calls; RAM has its arena, states, inputs,
    outputs, variables and stack. `irtool info --memory --board` prints the parts of both.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(64, 64), float32]) {
  nn.softmax(nn.dense(%x, %x, units=64))
}
"""
    command = "build --emit=c --ram-limit=16K --no-cache -o %t %s"
