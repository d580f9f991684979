"""Files of JSON that are whole at any moment, so that an interruption loses at most what is not written yet."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from irtool.files import Draft


def read_json(path: Path) -> dict[str, Any]:
    """The object in a file; an empty one if there is no file."""
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Puts a new file in the place of the old one; its folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with Draft(path) as draft:
        draft.out.write(json.dumps(value, indent=1).encode("utf-8"))
