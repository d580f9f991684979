"""First lines of docstrings: a noun phrase or a sentence of the field's words, not a question or a relative clause."""

from __future__ import annotations

import ast
import re

import pytest

from .import_graph import files

pytestmark = pytest.mark.every_tier

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


def first_lines_of_definitions(source: str) -> dict[int, str]:
    """First lines of the docstrings of classes and functions, by line number."""
    definitions = (n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.ClassDef | ast.FunctionDef))
    lines = ((n.lineno, ast.get_docstring(n)) for n in definitions)
    return {lineno: docstring.partition("\n")[0] for lineno, docstring in lines if docstring}


def riddle(line: str) -> str | None:
    """The first pattern that a line has, apart from names in backquotes."""
    prose = re.sub(r"`[^`]*`", "`…`", line)
    return next((p for p in RIDDLES if re.search(p, prose)), None)


def test_first_lines_of_modules_are_plain() -> None:
    lines = {m: first_line(p.read_text(encoding="utf-8")) for m, p in files().items()}
    assert all(lines.values())
    assert not [f"{m}: {line}" for m, line in lines.items() if riddle(line)]


def test_first_lines_of_classes_and_functions_are_plain() -> None:
    modules = {m: p.read_text(encoding="utf-8") for m, p in files().items()}
    lines = [(f"{m}:{n}", line) for m, text in modules.items() for n, line in first_lines_of_definitions(text).items()]
    assert len(lines) > 1000
    assert not [f"{place}: {line}" for place, line in lines if riddle(line)]


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
    assert riddle("Errors name `what`.") is None
    assert riddle("Layouts that a kernel prefers for its operands.") is None
    assert first_lines_of_definitions('def f():\n    """One.\n\n    What."""\nclass C: pass\n') == {1: "One."}
    assert first_line('"""One.\n\nWhat is below may ask."""\n') == "One."
