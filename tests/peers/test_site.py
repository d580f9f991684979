"""The site of docs/ builds strictly; its links lead to pages and headings that exist, and its pages load nothing from elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[2]


class Page(HTMLParser):
    """What a page links to, what it loads, which places it has, and its text outside of code."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = set()
        self.text: list[str] = []
        self._open: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {k: v or "" for k, v in attrs}
        self.places.update(given[k] for k in ("id", "name") if k in given)
        if tag in ("a", "link") and "href" in given:
            (self.links if tag == "a" or "canonical" in given.get("rel", "") else self.loaded).append(given["href"])
        if "src" in given:
            self.loaded.append(given["src"])
        if tag in ("code", "pre", "script", "style"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._open and self._open[-1] == tag:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if not self._open:
            self.text.append(data)


@pytest.fixture(scope="module")
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not request.config.getoption("--peers"):
        pytest.skip("only with --peers")
    pytest.importorskip("material")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    return folder


def test_links_lead_somewhere(site: Path) -> None:
    pages = {p: Page(p) for p in site.glob("*.html") if p.name != "404.html"}
    assert len(pages) > 30
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme in ("http", "https", "mailto"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            assert target.is_file(), f"{path.name}: {link}"
            if parts.fragment and target in pages:
                assert unquote(parts.fragment) in pages[target].places, f"{path.name}: {link}"


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    for path in site.glob("*.html"):
        for loaded in Page(path).loaded:
            parts = urlsplit(loaded)
            assert not parts.scheme and not parts.netloc, f"{path.name}: {loaded}"
            if path.name != "404.html":
                assert (path.parent / unquote(parts.path)).is_file(), f"{path.name}: {loaded}"


def test_no_markup_is_left_over(site: Path) -> None:
    for path in site.glob("*.html"):
        for text in Page(path).text:
            assert "`" not in text and "\n- " not in text and "\n| " not in text and "](" not in text, (
                f"{path.name}: {text}"
            )
