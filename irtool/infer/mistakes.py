"""What is wrong with types."""

from __future__ import annotations

from ..diagnostics import Code
from ..plugin.codes import code


@code("E0301")
class TypesDiffer(Code):
    """Two types that must be the same differ.

    The message says which part of the program requires them to be the same, and the first place where they differ.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) -> Tensor[(3, 2), float32] {
  nn.relu(%x)
}
"""


@code("E0302")
class OperatorRefuses(Code):
    """The type rule of an operator does not hold for these arguments.

    The notes give the types of the arguments and what the operator computes. `irtool ops NAME` has the whole rule.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(5, 4), float32]) {
  add(%x, %y)
}
"""


@code("E0303")
class WrongArgumentCount(Code):
    """A call with too many or too few arguments or type arguments."""

    example = """\
#[version = "0.0.5"]
def @main(%x: float32) {
  add(%x)
}
"""


@code("E0304")
class OpenType(Code):
    """A type that nothing decides.

    Annotate the parameter, or give its type on the command line: `--shape x=2,3 --dtype x=float32`. Until then, the module can be
    printed, but not run or compiled.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x) {
  nn.relu(%x)
}
"""
    command = "check --target=c %s"


@code("E0305")
class NotCallable(Code):
    """A call of something that is not a function."""

    example = """\
#[version = "0.0.5"]
def @main(%x: float32) {
  let %y = exp(%x);
  %y(%x)
}
"""


@code("E0306")
class NoSuchField(Code):
    """A projection (`t.0`) of something that is not a tuple, or has fewer fields."""

    example = """\
#[version = "0.0.5"]
def @main(%x: (float32, int32)) {
  %x.2
}
"""


@code("E0307")
class MatchNotExhaustive(Code):
    """A `match` without a clause for every value.

    The note gives a value that no clause matches. `match?` may leave values out; evaluating it on one fails.
    """

    example = """\
#[version = "0.0.5"]
type Color {
  Red,
  Green,
}

def @main(%c: Color) {
  match (%c) {
    Red => { 1 }
  }
}
"""


@code("E0308")
class IllFormedType(Code):
    """A type that cannot be: an undefined name, type arguments of another number, or more elements than 2^63 - 1."""

    example = """\
#[version = "0.0.5"]
type Box[A] {
  Of(A),
}

def @main(%b: Box[float32, int32]) {
  %b
}
"""


@code("E0309")
class UnfitTypeGiven(Code):
    """A type given on the command line that the parameter cannot have.

    `--shape` and `--dtype` complete the types of parameters; they do not change what is written.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(2, ?), float32]) {
  nn.relu(%x)
}
"""
    command = "check --shape x=3,3 %s"
