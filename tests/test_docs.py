"""The generated references are what the classes say today."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from irtool.commands.references import references
from irtool.ops import operators
from irtool.ops.cases import cases_of
from irtool.passes import FunctionPass, passes, register_pass
from irtool.plugin.loading import plugins_kept

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture(scope="module")
def generated() -> dict[str, str]:
    """The references, generated while a pass and an operator from outside are there, which they do not show."""
    with plugins_kept():

        @register_pass("AdditionalPass")
        @dataclass(frozen=True)
        class AdditionalPass(FunctionPass):
            """Is no part of irtool."""

        @register_pass("FuseOps", override=True)
        @dataclass(frozen=True)
        class OtherFuseOps(FunctionPass):
            """Takes the place of a pass of irtool."""

        texts = references()
        assert passes.get("AdditionalPass") is AdditionalPass and passes.get("FuseOps") is OtherFuseOps
    return texts


@pytest.mark.parametrize(
    "name", ["commands.md", "errors.md", "ops.md", "passes.md", "python-api.md", "relay-to-relax.md"]
)
def test_reference_is_fresh(name: str, generated: dict[str, str]) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == generated[name], "run python -m irtool.commands.references"


PAGES = sorted([*DOCS.glob("*.md"), DOCS.parent / "README.md", DOCS.parent / "CONTRIBUTING.md"])


def headings(page: Path) -> set[str]:
    """The anchors of a page, as hosts of repositories and the site make them."""
    lines = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in lines}


def test_tests_that_pages_name_are_there() -> None:
    named = {(p.name, n) for p in PAGES for n in re.findall(r"`(tests/[\w/]+\.py)`", p.read_text(encoding="utf-8"))}
    assert named and not [n for n in sorted(named) if not (DOCS.parent / n[1]).is_file()]


def test_the_page_on_architecture_has_every_room() -> None:
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    irtool = DOCS.parent / "irtool"
    rooms = [p for folder in (irtool, irtool / "schedule") for p in folder.iterdir() if p.stem.strip("_") == p.stem]
    names = [f"`{p.name}/`" if p.is_dir() else f"`{p.name}`" for p in rooms if p.is_dir() or p.suffix == ".py"]
    assert len(names) > 40 and not [n for n in names if n not in text and n.replace("`", "`schedule/", 1) not in text]


def test_modules_that_pages_on_the_code_name_are_there() -> None:
    pages = [DOCS / name for name in ("architecture.md", "tour.md")]
    named = {n for p in pages for n in re.findall(r"`((?:\w+/)+\w+\.py)`", p.read_text(encoding="utf-8"))}
    roots = (DOCS.parent, DOCS.parent / "irtool", DOCS.parent / "irtool" / "backends")
    assert len(named) > 10 and not [n for n in sorted(named) if not any((root / n).is_file() for root in roots)]


def test_the_site_has_every_page() -> None:
    named = re.findall(r": (\S+\.md)$", (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(named) == sorted({p.name for p in DOCS.glob("*.md")} | {"contributing.md"})


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_a_page_renders(page: Path) -> None:
    """No Markdown is left over as text, no text becomes code by its indentation, and links lead to files."""
    markdown = pytest.importorskip("markdown_it").MarkdownIt("commonmark").enable("table")
    for token in markdown.parse(page.read_text(encoding="utf-8")):
        assert token.type not in ("code_block", "html_block"), f"{page.name}:{token.map}: {token.content}"
        for part in token.children or ():
            where = f"{page.name}:{token.map}: {part.content}"
            assert part.type != "html_inline", where
            if part.type == "text":
                assert "`" not in part.content and "::" not in part.content and not part.content.startswith("|"), where
            if part.type == "link_open":
                target, _, heading = str(part.attrs["href"]).partition("#")
                if not target.startswith("http"):
                    path = page.parent / target if target else page
                    assert path.exists(), f"{where}: {target}"
                    assert not heading or heading in headings(path), f"{where}: {target}#{heading}"


def test_every_operator_that_runs_shows_the_shapes_of_a_call() -> None:
    """The page of operators has a case of each, with the types of its arguments and its result."""
    page = (DOCS / "ops.md").read_text()
    for section in page.split("\n## ")[1:]:
        name = section.split("\n")[0]
        if any(c.type for c in cases_of(operators.get(name))):
            assert re.search(r"^```\n(.*\n)?.* -> .*\n```$", section, re.MULTILINE), name
