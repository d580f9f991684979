"""Texts of calls that differ from one in a single place."""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(r"Tensor\[\((?P<shape>[\d, ]*)\)|\b(?P<dtype>float32|float16|float64|int32|int64|int8|uint8|bool)\b"
                    r"|\b(?P<word>True|False)\b|(?<![\w.])(?P<number>-?\d+)(?![\w.])")  # fmt: skip


def neighbours(text: str) -> Iterator[str]:
    """The texts that differ in one place from that of a function, which begins in the second line."""
    for match in _TOKEN.finditer(text, text.index("\n") + 1):
        for new in _others(match):
            yield text[: match.start()] + new + text[match.end() :]


def _others(match: re.Match[str]) -> Iterator[str]:
    if (shape := match["shape"]) is not None:
        dims = shape.split(", ")
        for n, d in enumerate(dims):
            for other in (int(d) + 1, int(d) - 1):
                if other >= 0:
                    yield f"Tensor[({', '.join([*dims[:n], str(other), *dims[n + 1 :]])})"
        yield f"Tensor[({', '.join(['1', *dims])})"
        if len(dims) > 1:
            yield f"Tensor[({', '.join(dims[1:])})"
    elif match["dtype"]:
        yield "int32" if match["dtype"].startswith("float") else "float32"
    elif match["word"]:
        yield "False" if match["word"] == "True" else "True"
    else:
        yield str(int(match["number"]) + 1)
        yield str(int(match["number"]) - 1)
