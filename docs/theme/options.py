"""A hook of MkDocs: an option such as `--params` stays on one line. Browsers break words behind a hyphen, `--` from `params`."""

from __future__ import annotations

import re
from typing import Any

_CODE = re.compile(r"<code>.*?</code>", re.DOTALL)
_OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")


def on_page_content(html: str, **_: Any) -> str:
    """Puts each option in code into a span of its own, which site.css does not wrap."""
    return _CODE.sub(lambda m: _OPTION.sub(r'<span class="option">\g<0></span>', m[0]), html)
