"""Errors of modules and of values."""

from __future__ import annotations

from ..diagnostics import Code
from ..plugin.codes import code


@code("E0211")
class BrokenModule(Code):
    """A module that violates a rule of the IR: a variable without a binder or with two, or a name missing from the module.

    Passes keep the rules. A module read from text breaks one when, for example, two `let`s bind the same variable, which the printer
    of another program wrote under one name.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: float32) {
  let %y = exp(%y);
  %y
}
"""


@code("E0212")
class NotInBasicBlocks(Code):
    """An expression outside its scope in basic-block normal form.

    In this form, an expression used in several scopes is bound by a `let` in the innermost scope around them. The pass
    `ToBasicBlockNormalForm` adds these bindings.
    """

    example = """\
#[version = "0.0.5"]
def @main(%c: bool, %a: float32) {
  %0 = exp(%a);
  if (%c) { %0 } else { negative(%0) }
}
"""
    command = "check --basic-block-normal-form %s"


@code("E0213")
class ValueDoesNotFit(Code):
    """A value that does not fit its parameter: another rank, another extent, or elements out of the dtype's range.

    Arrays are converted, with a note, if no element changes its value; otherwise they are refused.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(3), float32]) {
  %x
}
"""
    command = "run --load %p --params values.npz %s"
    plugin = """\
import numpy

numpy.savez("values.npz", x=[1.0, 2.0])
"""


@code("E0214")
class WrongPattern(Code):
    """A pattern and its constructor differ in the number of fields."""

    example = """\
#[version = "0.0.5"]
type Pair {
  Two(float32, float32),
}

def @main(%p: Pair) {
  match (%p) {
    Two(%a) => { %a }
  }
}
"""


@code("W0201")
class OddWeights(Code):
    """A weight that holds NaN or infinity: mostly the trace of a training that failed, or of a damaged file.

    Masks of zeros and infinities, as attention adds them, are no such weights.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(2), float32], %w: Tensor[(2), float32]) {
  add(%x, %w)
}
"""
    command = "check --load %p --params values.npz %s"
    plugin = """\
import numpy

numpy.savez("values.npz", w=numpy.float32([1.0, numpy.nan]))
"""
