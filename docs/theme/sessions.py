"""A hook of MkDocs: in terminal sessions only `$ ` begins a command. Pygments takes `%2 = …` and `#[version = …]` of Relay for prompts.

The tools that a session needs stand behind the word `console` for `tests/test_sessions.py`; superfences knows no such option.
"""

from __future__ import annotations

import re
from typing import Any

from pygments.lexers.shell import BashSessionLexer


def on_config(config: Any) -> None:
    """Narrows the prompts that the lexer of `console` blocks knows."""
    BashSessionLexer._ps1rgx = re.compile(r"^(\$ )(.*\n?)")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The page without the tools that its sessions need."""
    return re.sub(r'^(`{3,}console) data-needs="[^"\n]*"$', r"\1", markdown, flags=re.MULTILINE)
