"""Names of ONNX, which may be anything, as names of Relay's variables."""

from __future__ import annotations

import re
from collections.abc import Iterable


class RelayNames:
    """Gives each name of ONNX one that Relay's text can have, and no two the same one."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.taken = set(taken)

    def of(self, name: str) -> str:
        """A name for a variable: the letters, digits, `_` and `.` of `name`, with a number behind it where it is taken."""
        base = re.sub(r"[^A-Za-z0-9_.]+", "_", name).strip(".") or "v"
        if not re.match(r"[A-Za-z_]", base):
            base = f"v{base}"
        result, count = base, 0
        while result in self.taken:
            count += 1
            result = f"{base}_{count}"
        self.taken.add(result)
        return result
