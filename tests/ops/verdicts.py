"""What type rules say of neighbours of calls: `python -m tests.ops.verdicts` writes it to `verdicts.txt`.

One line a call of `calls.relay`: each of its numbers is made one greater and one less, each `True` is turned round, each dtype
becomes another, each tensor gets an axis more and loses one; attributes that were left out are given. A letter for each neighbour says whether it is refused (`x` by
the rule, `a` for an attribute, `?` otherwise) or accepted (`.`); six digits tell of the types that results have then.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import irtool
from irtool.diagnostics import IrError
from irtool.ir import Function
from irtool.ops import operators

HERE = Path(__file__).parent
FILE = HERE / "verdicts.txt"
CALLS = HERE / "calls.relay"
MOST = 40
"""Neighbours of a call that are tried; of more, some are left out."""
_LETTERS = {"OperatorRefuses": "x", "WrongAttribute": "a", "MissingAttribute": "a"}
_TOKEN = re.compile(r"Tensor\[\((?P<shape>[\d, ]*)\)|\b(?P<dtype>float32|float16|float64|int32|int64|int8|uint8|bool)\b"
                    r"|\b(?P<word>True|False)\b|(?<![\w.])(?P<number>-?\d+)(?![\w.])")  # fmt: skip


@functools.cache
def calls() -> dict[str, str]:
    """The modules of `calls.relay` by name: operator and number."""
    parts = re.split(r"^// call (.*)\n", CALLS.read_text(encoding="utf-8"), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@functools.cache
def bases() -> dict[str, str]:
    """The calls without a mistake."""
    return {key: text for key, text in calls().items() if _verdict(text)[0] == "."}


def neighbours(text: str) -> Iterator[str]:
    """The texts that differ in one place from that of a function, which begins in the second line."""
    for match in _TOKEN.finditer(text, text.index("\n") + 1):
        for new in _others(match):
            yield text[: match.start()] + new + text[match.end() :]


def completed(key: str) -> Iterator[str]:
    """A call with attributes given that were left out."""
    text = calls()[key]
    head, end = text.rstrip()[:-3], text.rstrip()[-3:]
    between = "" if head.endswith("(") else ", "
    for f in operators.get(key.split(" ")[0]).fields():
        if isinstance(f.default, int) and f" {f.name}=" not in text and f"({f.name}=" not in text:
            given = (not f.default,) if isinstance(f.default, bool) else (f.default + 1, f.default - 1)
            for value in given:
                yield f"{head}{between}{f.name}={value}{end}\n"


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


def line(key: str) -> str:
    """What `verdicts.txt` says of a call."""
    texts = [*neighbours(calls()[key]), *completed(key)]
    found = [_verdict(t) for t in texts[:: max(1, -(-len(texts) // MOST))]]
    types = "\n".join(t for _, t in found)
    return f"{key} | {''.join(v for v, _ in found)} | {hashlib.sha256(types.encode()).hexdigest()[:6]}"


def _verdict(text: str) -> tuple[str, str]:
    try:
        main = irtool.infer_types(irtool.parse(text))["main"]
    except IrError as error:
        code = error.diagnostics[0].code
        return _LETTERS.get("" if code is None else code.__name__, "?"), ""
    assert isinstance(main, Function)
    return ".", str(main.body.checked_type)


def expected() -> dict[str, str]:
    """The lines of `verdicts.txt` by call."""
    return {text.partition(" | ")[0]: text for text in FILE.read_text(encoding="utf-8").splitlines()}


if __name__ == "__main__":
    FILE.write_text("".join(f"{line(key)}\n" for key in bases()), encoding="utf-8")
