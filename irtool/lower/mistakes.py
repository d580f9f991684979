"""Errors of modules that cannot be compiled."""

from __future__ import annotations

from ..diagnostics import Code
from ..plugin.codes import code


@code("E0601")
class DynamicShape(Code):
    """A shape unknown at compile time.

    The memory of a build is planned for its largest shapes. Give the extents of parameters with `--shape`, or bounds up to which a run
    decides: `--shape 'x=?<=512,3'`, `--dim 'seq<=512'`. An extent that follows from values needs a bound that follows from the program.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(?, 3), float32]) {
  nn.relu(%x)
}
"""
    command = "check --target=c %s"


@code("E0602")
class NoCounterpart(Code):
    """An expression or a type without a counterpart in C.

    Parameters and results of an entry are tensors, tuples, data and references; functions, alone or in data, work inside of a program
    only, as nothing represents them outside. External functions have no body to compile. A polymorphic function has a copy for each set of
    types that it is called with, and a function that calls itself with larger types each time would have copies without end.
    """

    example = """\
#[version = "0.0.5"]
extern def @f: fn (float32) -> float32

def @main(%x: float32) {
  @f(%x)
}
"""
    command = "check --target=c %s"


@code("E0603")
class NoSuchElement(Code):
    """A dtype without a counterpart in C."""

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(4), int4]) {
  %x
}
"""
    command = "build --emit=c --no-cache -o %t %s"


@code("E0606")
class RamLimit(Code):
    """A workspace that is larger than its limit, even if values are computed again in place of waiting in memory.

    The limit is `ram_limit` in the attributes of the function, which `irtool train-step --ram-limit` writes. It does not count weights, states of
    optimizers, inputs and outputs.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(64, 64), float32], ram_limit=1024) {
  nn.softmax(nn.dense(%x, nn.dense(%x, %x, units=64), units=64))
}
"""
    command = "build --emit=c --no-cache -o %t %s"


@code("E0605")
class StateMismatch(Code):
    """A state whose next value cannot take its place.

    `state_outputs` (`build --state`) says which output is the next value of a parameter: a tensor of the same shape and dtype, and of no
    other parameter. A function with states is an entry, which no function calls.
    """

    example = """\
#[version = "0.0.5"]
def @main(%h: Tensor[(4), float32], state_outputs=[0]) {
  concatenate((%h, %h))
}
"""
    command = "build --emit=c --no-cache -o %t %s"
