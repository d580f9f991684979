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
