"""Errors in files and arguments of commands."""

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
    """A file that is not Relay text.

    The message says what it looks like, and which program makes Relay text of it.
    """

    example = """\
<html></html>
"""


@code("E0011")
class UnknownCommand(Code):
    """An unknown command of irtool.

    `irtool --help` lists the commands.
    """

    command = "optt"


@code("E0012")
class UnknownOption(Code):
    """An unknown option of a command.

    `irtool COMMAND --help` lists the options of a command.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: float32) {
  exp(%x)
}
"""
    command = "opt --pases=FuseOps %s"


@code("E0013")
class MissingWord(Code):
    """A missing argument, or a missing value of an option."""

    command = "opt --passes"


@code("E0014")
class BadValue(Code):
    """An invalid value of an option or argument.

    The message says what it takes.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: float32) {
  exp(%x)
}
"""
    command = "run -O 7 %s"


@code("E0015")
class TooManyArguments(Code):
    """Too many arguments for the command.

    Shells take braces and spaces apart: put `'Pass{option=value}'` in quotes.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: float32) {
  exp(%x)
}
"""
    command = "build %s %s"


@code("E0016")
class ClashingOptions(Code):
    """Conflicting options, an option without one that it requires, or an option given twice for the same thing."""

    example = """\
#[version = "0.0.5"]
def @main(%x: float32) {
  exp(%x)
}
"""
    command = "run --missing-constants=random --no-random %s"


@code("E0017")
class UnmetExpectation(Code):
    """An error that `--verify-diagnostics` expects and that is not reported, or the reverse.

    `// ERROR: WORDS` expects an error with these words, behind text on that line, alone on a line on the next one.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: float32) {
  exp(%x)  // ERROR: unknown operator
}
"""
    command = "check --verify-diagnostics %s"


@code("W0001")
class MissingConstantsFile(Code):
    """A text whose constants were written beside it (`--constants=external`), to a file that is not there any more.

    Their values are unknown; `--missing-constants` fills them in.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(2), float32]) {
  add(%x, meta[relay.Constant][0])
}
/* The values of the constants are in weights.npz. */
"""
