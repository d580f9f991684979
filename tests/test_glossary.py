"""The words of docs/glossary.md: pages and sources of irtool do not use those of its column "not"; names of values are nouns."""

from __future__ import annotations

import ast
import re
import symtable
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
GLOSSARY = ROOT / "docs" / "glossary.md"
SOURCES = ("benchmarks", "docs", "irtool", "samples", "tests")
"""Folders of Python sources. None of their values has a name of the section "Names of values"."""


def rows() -> list[list[str]]:
    """The rows of all tables: term, meaning, words that are not used."""
    lines = [line for line in GLOSSARY.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    cells = [[c.strip() for c in line.strip("|").split("|")] for line in lines]
    return [row for row in cells if row[0] != "term" and not set(row[0]) <= {"-", " "}]


def unused() -> list[str]:
    return [word.strip("` ") for row in rows() for word in row[2].split(",") if word.strip()]


def pattern(word: str) -> re.Pattern[str]:
    """Whole words, which a line break may part."""
    return re.compile(rf"(?<!\w){re.escape(word)}(?!\w)".replace(r"\ ", r"\s+(?:#\s+)?"), re.IGNORECASE)


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """Pages, and sources with their docstrings, help texts and messages."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(p for p in (ROOT / "docs").glob("*.md") if p != GLOSSARY)]
    files = [*pages, *(ROOT / "irtool").rglob("*.py"), *(ROOT / "irtool").rglob("*.template")]
    return {str(p.relative_to(ROOT)): p.read_text(encoding="utf-8") for p in files}


@pytest.mark.parametrize("word", unused())
def test_a_word_is_not_used(word: str, texts: dict[str, str]) -> None:
    matches = [(name, m) for name, text in texts.items() for m in pattern(word).finditer(text)]
    used = [f"{name}:{m.string.count(chr(10), 0, m.start()) + 1}" for name, m in matches]
    assert not used, f"docs/glossary.md has another term for {word!r}: {', '.join(used)}"


@pytest.mark.parametrize("word", unused())
def test_no_module_has_such_a_name(word: str) -> None:
    assert not [p for p in (ROOT / "irtool").rglob("*.py") if p.stem == word]


def test_rows_are_whole() -> None:
    assert len(rows()) >= 30 and all(len(row) == 3 and row[0] and row[1] for row in rows())
    assert len(set(unused())) == len(unused()) >= 25
    terms = [term.strip() for row in rows() for term in row[0].split(",")]
    assert len(set(terms)) == len(terms) and not set(terms) & set(unused())


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("see `solved_steps`.", True),
        ("a mode that there\n    is not", True),
        ("# a mode that there\n# is not", True),
        ("That there is not", True),
        ("unsolved_steps, solved_steps_more", False),
        ("that there is nothing", False),
    ],
)
def test_words_are_matched_as_wholes(text: str, matches: bool) -> None:
    assert any(pattern(w).search(text) for w in ("solved_steps", "that there is not")) == matches


def vague_names() -> set[str]:
    """The words that the section "Names of values" has in front of its colons."""
    section = GLOSSARY.read_text(encoding="utf-8").partition("\n## Names of values\n")[2]
    heads = [line[2:].partition(":")[0] for line in section.splitlines() if line.startswith("- ")]
    return {name for head in heads for name in re.findall(r"`(\w+)`", head)}


def bound_names(source: str, name: str) -> Iterator[tuple[str, int]]:
    """Each name that a module binds: of locals, parameters, fields, functions and attributes; not of imports. With the line of the
    attribute, or else that of the function or class around it."""
    stack = [symtable.symtable(source, name, "exec")]
    while stack:
        table = stack.pop()
        stack += table.get_children()
        bound = (s for s in table.get_symbols() if s.is_local() and not s.is_imported())
        is_value = isinstance(table, symtable.Function)
        yield from ((s.get_name(), table.get_lineno()) for s in bound if is_value or not is_place(s.get_name()))
    attributes = (n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Attribute))
    yield from ((n.attr, n.lineno) for n in attributes if isinstance(n.ctx, ast.Store) and not is_place(n.attr))


def is_place(name: str) -> bool:
    """True for `at`, which is no name of a value, but may be one of a method or a field: `buffer.at(index)`."""
    return name.strip("_") == "at"


def is_vague(name: str, vague: set[str]) -> bool:
    """True for a word of the section, also behind underscores."""
    return name.strip("_") in vague


@pytest.mark.parametrize("folder", SOURCES)
def test_names_of_values_are_nouns(folder: str) -> None:
    vague = vague_names()
    sources = {str(p.relative_to(ROOT)): p.read_text(encoding="utf-8") for p in (ROOT / folder).rglob("*.py")}
    assert sources
    used = [f"{f}:{k} {n}" for f, text in sources.items() for n, k in bound_names(text, f) if is_vague(n, vague)]
    assert not used, f"docs/glossary.md, Names of values, has nouns for {', '.join(used)}"


def test_vague_names_are_seen_wherever_they_are_bound() -> None:
    assert {"found", "made", "wanted", "given", "held", "kept", "said", "told"} <= vague_names()
    source = """
from hypothesis import given as boxed
def f(given, *, wanted=0):
    made: int = 1
    with g() as held, h(lambda said: [kept for kept in said]):
        for told, (gone, x) in ():
            if (found := x): pass
class C:
    there: int = 1
    def carried(self): self._beside = self.judge
    def at(self): self.at = 1
def _theirs(at): undecided()
"""
    places = [(n.strip("_"), line) for n, line in bound_names(source, "f") if is_vague(n, vague_names())]
    names = {n for n, _ in places}
    bound = {"given", "wanted", "made", "held", "said", "kept", "told", "gone", "found"}
    assert names == bound | {"there", "carried", "beside", "theirs", "at"}
    assert [line for n, line in places if n == "at"] == [source.split("\n").index("def _theirs(at): undecided()") + 1]
