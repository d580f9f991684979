"""`irtool lsp`: the language server for editors."""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stdout

import click

from .pass_options import loads_files
from .wrong_usage import Command


@click.command(name="lsp", cls=Command, short_help="Serve editors: the language server for Relay text.")
@loads_files
def command() -> None:
    """Speak the Language Server Protocol on standard input and output, as editors start it.

    Diagnostics while typing, types and operator manuals under the cursor, definitions, references, renaming, completion,
    types of bindings, outline. Needs the package pygls: pip install 'irtool[lsp]'. Editors are set up as docs/editors.md says.

    \b
    irtool lsp
    irtool lsp --load my_operators.py
    """
    from ..diagnostics import UsageError
    from .op_manual import markdown_of

    try:
        from ..lsp.server import create_server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        raise UsageError("the language server needs the package pygls", help="pip install 'irtool[lsp]'") from None
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError(
            "standard input is a terminal: an editor starts the language server", help="see docs/editors.md"
        )
    # The server closes what it reads and writes; what a plug-in prints is no message.
    with os.fdopen(os.dup(0), "rb") as source, os.fdopen(os.dup(1), "wb") as target, redirect_stdout(sys.stderr):
        create_server(markdown_of).start_io(source, target)
