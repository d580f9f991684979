"""Errors of running programs."""

from __future__ import annotations

from ..diagnostics import Code
from ..plugin.codes import code


@code("E0401")
class CannotEvaluate(Code):
    """An operator that cannot be evaluated on these values.

    Some conditions are not part of types: dynamic extents, indices, contents of strings.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(4), float32], %s: Tensor[(2), int64]) {
  dyn.reshape(%x, %s, newshape=[])
}
"""
    command = "run %s"


@code("E0402")
class NoClauseFits(Code):
    """A `match?` on a value that no clause matches."""

    example = """\
#[version = "0.0.5"]
type Color {
  Red,
  Green,
}

def @main() {
  let %c = Green;
  match? (%c) {
    Red => { 1 }
  }
}
"""
    command = "run %s"


@code("E0403")
class EndlessRecursion(Code):
    """Endless recursion: the depth of calls exceeds the interpreter's limit (3,000,000).

    Tail calls do not count.
    """

    example = """\
#[version = "0.0.5"]
def @main(%n: int32) -> int32 {
  add(1, @main(%n))
}
"""
    command = "run %s"


@code("E0404")
class MissingValue(Code):
    """A parameter without a value.

    Provide one with `--input NAME=FILE.npy`, `--inputs` or `--params`, or let `irtool run` generate random values (`--random`).
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(2), float32]) {
  %x
}
"""
    command = "run --no-random %s"


@code("E0405")
class NoBody(Code):
    """A function without a body, external or lowered, which cannot be run."""

    example = """\
#[version = "0.0.5"]
extern def @f: fn (float32) -> float32

def @main(%x: float32) {
  @f(%x)
}
"""
    command = "run %s"


@code("E0406")
class MissingConstant(Code):
    """A constant without data: the metadata section was cut off.

    `--missing-constants=zeros`, `=random` or `=param` provides values for such constants.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(2), float32]) {
  add(%x, meta[relay.Constant][0] /* ty=Tensor[(2), float32] */)
}
"""
    command = "run %s"
