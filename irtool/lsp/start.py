"""Starts the server where it can run."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import redirect_stdout

from ..diagnostics import UsageError
from ..extras import install_line


def serve(manual: Callable[[str], str], layout: Callable[[str], str]) -> None:
    """Answers the client on standard input and output until it leaves; the arguments are those of `create_server`.

    Raises UsageError if pygls is missing, and if there is a terminal instead of a client.
    """
    try:
        from .server import create_server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        raise UsageError("the language server needs the package pygls", help=install_line("lsp")) from None
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError(
            "standard input is a terminal: an editor starts the language server", help="see docs/editors.md"
        )
    # The server closes what it reads and writes; what a plug-in prints is no message.
    with os.fdopen(os.dup(0), "rb") as source, os.fdopen(os.dup(1), "wb") as target, redirect_stdout(sys.stderr):
        create_server(manual, layout).start_io(source, target)
