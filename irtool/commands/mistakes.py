"""What is wrong with files that commands are given."""

from __future__ import annotations

from ..diagnostics import Code
from ..plugin.codes import code


@code("E0001")
class UnreadableFile(Code):
    """A file that cannot be read: it does not exist, is empty, too large, or is not UTF-8."""

    command = "check no_such_file.relay"


@code("E0002")
class UnwritableFile(Code):
    """A file that cannot be written."""

    example = """\
#[version = "0.0.5"]
def @main(%x: float32) {
  exp(%x)
}
"""
    command = "opt -o /no/such/folder/out.relay %s"


@code("E0003")
class ForeignFile(Code):
    """A file of another kind: not Relay text.

    The message says what it looks like, and which program makes Relay text of it.
    """

    example = """\
<html></html>
"""
