"""`irtool lsp`: the language server for editors."""

from __future__ import annotations

import click

from .pass_options import loads_files
from .wrong_usage import Command


@click.command(name="lsp", cls=Command, short_help="Serve editors: the language server for Relay text.")
@loads_files
def command() -> None:
    """Speak the Language Server Protocol on standard input and output, as editors start it.

    Diagnostics while typing, types and operator manuals under the cursor, definitions, references, renaming, completion,
    types of bindings, formatting, outline. Needs the package pygls: pip install pygls. Editors are set up as docs/editors.md says.

    \b
    Examples:
      irtool lsp
      irtool lsp --load my_operators.py
    """
    from ..lsp.start import serve
    from .golden_layout import laid_out
    from .op_manual import markdown_of

    serve(markdown_of, lambda text: laid_out("-", text, "<text>")[0])
