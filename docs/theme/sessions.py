"""A hook of MkDocs: in terminal sessions only `$ ` begins a command. Pygments takes `%2 = …` and `#[version = …]` of Relay for prompts."""

from __future__ import annotations

import re
from typing import Any

from pygments.lexers.shell import BashSessionLexer


def on_config(config: Any) -> None:
    """Narrows the prompts that the lexer of `console` blocks knows."""
    BashSessionLexer._ps1rgx = re.compile(r"^(\$ )(.*\n?)")
