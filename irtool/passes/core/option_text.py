"""Values of options as text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def show_value(value: Any) -> str:
    """A value as `pipeline.parse_value` reads it back."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(show_value, value))}]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{show_value(k)}: {show_value(v)}" for k, v in value.items()) + "}"
    return repr(value)
