"""Type errors."""

from __future__ import annotations

from ..diagnostics import Code
from ..plugin.codes import code


@code("E0301")
class TypesDiffer(Code):
    """Two types that must be equal differ.

    The message names the part of the program that requires equality, and the first difference.
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

    The notes give the types of the arguments and what the operator computes. `irtool ops NAME` prints the full rule.
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
    """A type that inference cannot determine.

    Annotate the parameter, or give its type on the command line: `--shape x=2,3 --dtype x=float32`. Until then, the module can be
    printed, but not run or compiled.
    """

    may_warn = True
    example = """\
#[version = "0.0.5"]
def @main(%x) {
  nn.relu(%x)
}
"""
    command = "check --target=c %s"


@code("E0305")
class NotCallable(Code):
    """A call of an expression that is not a function."""

    example = """\
#[version = "0.0.5"]
def @main(%x: float32) {
  let %y = exp(%x);
  %y(%x)
}
"""


@code("E0306")
class NoSuchField(Code):
    """A projection (`t.0`) of an expression that is not a tuple, or has fewer fields."""

    example = """\
#[version = "0.0.5"]
def @main(%x: (float32, int32)) {
  %x.2
}
"""


@code("E0307")
class MatchNotExhaustive(Code):
    """A `match` that does not cover every value.

    The note gives an unmatched value. `match?` need not cover all values; its evaluation on an unmatched value fails.
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
    """An invalid type: an undefined name, a wrong number of type arguments, or more than 2^63 - 1 elements."""

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
    """A type on the command line that contradicts the parameter's own.

    `--shape` and `--dtype` complete the types of parameters; they do not override them.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(2, ?), float32]) {
  nn.relu(%x)
}
"""
    command = "check --shape x=3,3 %s"


@code("W0301")
class AssumedDtype(Code):
    """A parameter whose dtype nothing says: it is taken to be float32.

    `--dtype NAME=…` says another, and annotations in the text do.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x) {
  nn.relu(%x)
}
"""
    command = "check --shape x=2,3 %s"
