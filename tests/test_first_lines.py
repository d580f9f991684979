"""First lines of modules: a noun phrase or a sentence of the field's words, not a question or a relative clause."""

from __future__ import annotations

import ast
import re

import pytest

from .import_graph import files

pytestmark = pytest.mark.every_tier

ROOMS = (
    "backends",
    "infer",
    "interp",
    "ir",
    "lower",
    "lsp",
    "parser",
    "printer",
    "quantization",
    "relay",
    "schedule",
    "te",
    "viz",
)
"""Rooms whose modules are held to it. It grows."""
RIDDLES = (
    r"^(What|Which|Where|How|Whether|Who|Whose|When)\b",  # a question in place of a noun
    r"^(In|Of|Along|By|From|At|To|For) (what|which|whom|how)\b",
    r"^(That|Those|Whoever|Whatever|Wherever)\b",
    r"\bwhat\b",  # "what is read", "what they are made of": the thing has a name
    r"\bthose of which\b",
    r"\bof which (it|they) (is|are) not\b",
    r"\bas\b[^.:;]{1,40}\bha(s|ve) it\b",
    r"\b(is|are) none\b",
    r"\bthat there (is|are)\b",
    r", made (one|of|part of)\b",
)


def first_line(source: str) -> str:
    return (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]


def riddle(line: str) -> str | None:
    """The first pattern that a line has."""
    return next((p for p in RIDDLES if re.search(p, line)), None)


@pytest.mark.parametrize("room", ROOMS)
def test_first_lines_are_plain(room: str) -> None:
    modules = [m for m in files() if f"{m}.".startswith(f"irtool.{room}.")]
    lines = {m: first_line(files()[m].read_text(encoding="utf-8")) for m in modules}
    assert len(modules) >= 2 and all(lines.values())
    assert not [f"{m}: {line}" for m, line in lines.items() if riddle(line)]


def test_each_pattern_finds_its_riddle() -> None:
    examples = (
        "Which layouts a kernel would like its operands to have.",
        "Of how many rows the cache keeps a line each.",
        "Those stages that are final.",
        "Padding of what is summed.",
        "Kernels, those of which are final.",
        "A copy, of which it is not said yet inside of which loops it is made.",
        "The caches, as Linux has it.",
        "Convolutions that are none.",
        "A mode that there is not.",
        "Kernels that work row by row, made one kernel.",
    )
    assert [riddle(e) for e in examples] == list(RIDDLES)
    assert riddle("Layouts that a kernel prefers for its operands.") is None
    assert first_line('"""One.\n\nWhat is below may ask."""\n') == "One."
