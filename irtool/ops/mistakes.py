"""Errors in attributes of calls."""

from __future__ import annotations

from ..diagnostics import Code
from ..plugin.codes import code


@code("E0201")
class UnknownAttribute(Code):
    """An unknown attribute of an operator.

    `irtool ops NAME` lists the attributes of an operator with their defaults.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) {
  sum(%x, axes=[1])
}
"""


@code("E0202")
class WrongAttribute(Code):
    """An attribute with a value of the wrong kind."""

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) {
  nn.softmax(%x, axis="last")
}
"""


@code("E0203")
class MissingAttribute(Code):
    """A missing attribute that the operator requires."""

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) {
  cast(%x)
}
"""
