"""Text in markup: nothing that a name holds is taken for a tag, an entity or the end of a script."""

from __future__ import annotations

import json
import re
from importlib import resources
from typing import Any

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML document may hold, not even as an entity."""
_QUOTED = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}


def escape(text: str) -> str:
    """A text for contents and for values of attributes."""
    return re.sub("[&<>\"']", lambda m: _QUOTED[m[0]], _NO_XML.sub("�", text))


def script_data(value: Any) -> str:
    """JSON for a `script` element, which ends nowhere inside."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def part(name: str) -> str:
    """A file of this package."""
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def number(value: float) -> str:
    """A coordinate in few characters."""
    return f"{value:.1f}".removesuffix(".0")
