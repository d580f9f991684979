"""Errors in pipelines, and refusals of passes."""

from __future__ import annotations

from ...diagnostics import Code
from ...plugin.codes import code


@code("E0501")
class CannotTransform(Code):
    """A pass cannot transform the module: it does not support one of the expressions.

    The manual of a pass (`irtool passes NAME`) describes its domain. `--disable-pass` removes it from a pipeline.
    """

    example = """\
#[version = "0.0.5"]
def @other(%x: float32) {
  exp(%x)
}
"""
    command = "opt --passes=Defunctionalization %s"


@code("E0502")
class UnknownPass(Code):
    """An unknown pass, instrument or stage.

    `irtool passes` lists the passes, those of plug-ins included (`--load FILE.py`).
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: float32) {
  exp(%x)
}
"""
    command = "opt --passes=FuseOp %s"


@code("E0503")
class MalformedPipeline(Code):
    """A malformed list of passes.

    A pipeline is a list of names with options: `--passes='A,B{x=1 y=[2, 3]},func("^main$", C)'`. Quote it: shells take braces apart.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: float32) {
  exp(%x)
}
"""
    command = "opt --passes=FuseOps(2) %s"


@code("E0504")
class WrongPassOption(Code):
    """An unknown or missing option of a pass, or a value of the wrong kind.

    `irtool passes NAME` lists the options of a pass.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: float32) {
  exp(%x)
}
"""
    command = "opt --passes=FuseOps{fuse_opt_level=high} %s"


@code("E0505")
class WrongContextOption(Code):
    """An unknown option of the pass context (`--pass-config`), or a value of the wrong kind.

    `irtool passes --list-config` lists them.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: float32) {
  exp(%x)
}
"""
    command = "opt --passes=FuseOps --pass-config relay.FuseOps.max_deth=3 %s"


@code("E0506")
class NoFunctionMatches(Code):
    """A `--func` or `func(…)` that selects no function of the module.

    The expression is matched from the start of the name. `--allow-no-match` suppresses this error.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: float32) {
  exp(%x)
}
"""
    command = "opt --func nobody --passes=FastMath %s"


@code("E0507")
class NoGradient(Code):
    """A non-differentiable expression: an operator without a gradient, or a type other than tensors and tuples of them."""

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 2, 4, 4), float32]) {
  nn.correlation(%x, %x, padding=[1, 1, 1, 1])
}
"""
    command = "opt --passes=Gradient %s"


@code("E0508")
class AccumulatorOverflow(Code):
    """A quantized layer whose sums of products may not fit into 32 bits.

    The bound is that of the layer's own weights, with any data; `--keep NAME` leaves this
    one in floating point.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 70000), float32]) {
  nn.dense(%x, ones(shape=[1, 70000], dtype="float32"), units=1)
}
"""
    command = "opt --passes=InsertQDQ{ranges=[[-1,1],[-1,1]]} %s"


@code("W0501")
class PassRemark(Code):
    """A part of the module that a pass leaves as it stands, or an option of the context that changes nothing.

    The message names the pass or the option.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(2), float32]) {
  exp(%x)
}
"""
    command = "opt --passes=LowerTE %s"
