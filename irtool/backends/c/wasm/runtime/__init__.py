"""The ES module of a network, and its types for TypeScript, with `@WORD@` for the parts that depend on the network."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Mapping


def fill_runtime(file: str, words: Mapping[str, str]) -> str:
    """The text of a file with its words filled in. Raises KeyError for a missing word."""
    text = (pkgutil.get_data(__package__, file) or b"").decode()
    return re.sub(r"@([A-Z]+)@", lambda match: words[match[1]], text)
