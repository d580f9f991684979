"""Reading what a command is given: a file or standard input, as text, as a module, as arrays."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from ..diagnostics import IrError, render

if TYPE_CHECKING:
    from ..ir import Module


def read_text(path: str) -> tuple[str, str]:
    """The text of a file (`-`: standard input) and the name it goes by in messages. Raises IrError if it is unreadable."""
    try:
        if path == "-":
            data, name = sys.stdin.buffer.read(), "<stdin>"
        else:
            with open(path, "rb") as source:
                data, name = source.read(), path
    except OSError as error:
        raise IrError(f"cannot read {path}: {error.strerror or error}") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise IrError(f"{name} is not UTF-8 text (byte {error.start} is 0x{data[error.start]:02x})") from None
    if not text.strip():
        raise IrError(f"{name} is empty")
    return text, name


def read_module(path: str) -> Module:
    """Parses a file; warnings go to standard error."""
    return parse_text(*read_text(path))


def parse_text(text: str, name: str) -> Module:
    """Parses the text of a file that goes by that name in messages; warnings go to standard error."""
    from ..parser import read_with_diagnostics

    module, found = read_with_diagnostics(text, name)
    if module is None or any(d.level == "error" for d in found):
        raise IrError(found)
    if found:
        print(render(found), file=sys.stderr)
    return module


def read_arrays(path: str) -> dict[str, Any]:
    """Named arrays from an `.npz` or a `.params` file."""
    from ..parser.params import read_params

    if not os.path.exists(path):
        raise IrError(f"cannot read {path}: no such file")
    return read_params(path)
