"""Expected output: `X.relay.expected`, beside the golden file `X.relay`.

It has the output of all RUN lines of a case, each after the first introduced by `// RUN 2`, `// RUN 3`, … Of a file with several
cases, it has a part for each, with lines `// -----` between them, as there are in the file itself. Where nothing is printed, there
need be no such file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from ...files import open_text

LINE = "// -----"
"""What stands between the parts."""


def expected_path(path: str) -> str:
    """The path of the expected output of a golden file."""
    return path + ".expected"


def joined(outputs: Sequence[str]) -> str:
    """The output of a case from those of its RUN lines; empty if all are."""
    if not any(outputs):
        return ""
    parts = [text if n == 1 else f"// RUN {n}\n{text}" for n, text in enumerate(outputs, 1)]
    return "".join(p if p.endswith("\n") or not p else p + "\n" for p in parts)


def read_parts(path: str, count: int) -> list[str] | None:
    """The parts for so many cases, 0 for a file that is one case; None if there is no such file. Raises OSError."""
    try:
        with open_text(expected_path(path), errors="replace", newline="") as source:
            text = source.read()
    except FileNotFoundError:
        return None
    if not count:
        return [text]
    parts: list[list[str]] = [[]]
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        if line.rstrip("\n") == LINE:
            parts.append([])
        else:
            parts[-1].append(line)
    return ["".join(p) for p in parts]


def write_parts(path: str, parts: Sequence[str]) -> bool:
    """Writes the parts if they differ from the file; True if they did. Raises IrError."""
    from ..output import write_text

    text = f"{LINE}\n".join(parts)
    current = read_parts(path, 0)
    if (current is None and not "".join(parts)) or current == [text]:
        return False
    if "".join(parts):
        write_text(expected_path(path), text, follow=False)
    else:
        os.unlink(expected_path(path))
    return True
