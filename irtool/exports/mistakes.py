"""Errors in modules to export."""

from __future__ import annotations

from ..diagnostics import Code
from ..plugin.codes import code


@code("E0621")
class NoCounterpart(Code):
    """A construct or an operator for which the format has no counterpart.

    Everything of the kind is reported in one run, with the number of its uses, and nothing is written. Passes may remove it:
    `irtool opt --passes=… in.relay | irtool export --to=relax - -o model.py`.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32]) {
  vm.shape_of(%x, dtype="int64")
}
"""
    command = "export --to=relax -o %t %s"
