"""Search for golden files."""

from __future__ import annotations

import os
from collections.abc import Iterator

from .directives import is_golden
from .expected_text import expected_path

ENDINGS = (".relay", ".onnxtxt")
EXPECTED = tuple(map(expected_path, ENDINGS))


def find_goldens(path: str) -> Iterator[str]:
    """The golden files below a folder (or the one file), sorted; and expected outputs that belong to none. Raises OSError."""
    if os.path.isfile(path):
        yield path
        return
    for folder, folders, files in os.walk(path):
        folders.sort()
        for name in sorted(files):
            full = os.path.join(folder, name)
            if is_test(full):
                yield full


def is_test(path: str) -> bool:
    """True for a golden file, and for an expected output that belongs to none: both have a result."""
    return bool(stale_expectation(path)) or (path.endswith(ENDINGS) and _is_golden(path))


def stale_expectation(path: str) -> str:
    """The error for an expected output without a golden file; empty for any other file."""
    if not path.endswith(EXPECTED) or _is_golden(path.removesuffix(".expected")):
        return ""
    test = os.path.basename(path).removesuffix(".expected")
    return f"nothing prints this: there is no {test} beside it with a `// RUN:` line; remove it"


def _is_golden(path: str) -> bool:
    if not os.path.isfile(path):  # a link to nothing; or a pipe, which would be waited for
        return False
    with open(path, encoding="utf-8", errors="replace") as source:
        return is_golden(source.read())
