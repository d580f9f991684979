"""The site of docs/ builds strictly; its links lead to pages and headings that exist, and its pages load nothing from elsewhere.

In Chromium, the pages fit on screens of three sizes, and the search works where the folder is served.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from tests.peers.screens import SIZES, faint_texts
from tests.peers.served_site import serve


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
        attributes = {k: v or "" for k, v in attrs}
        self.places.update(attributes[k] for k in ("id", "name") if k in attributes)
        if tag in ("a", "link") and "href" in attributes:
            (self.links if tag == "a" or "canonical" in attributes.get("rel", "") else self.loaded).append(
                attributes["href"]
            )
        if "src" in attributes:
            self.loaded.append(attributes["src"])
        if tag in ("code", "pre", "script", "style"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._open and self._open[-1] == tag:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if not self._open:
            self.text.append(data)


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
            if parts.fragment and target in pages and "=" not in parts.fragment:  # a text for the playground
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


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """The address of the site, as `python -m http.server -d build/site` serves it."""
    with serve(site) as address:
        yield address


def test_the_search_finds_pages_without_a_network(address: str, browser: Any) -> None:
    page = browser.new_page()
    outside: list[str] = []
    page.on("request", lambda r: None if r.url.startswith(address) else outside.append(r.url))
    page.goto(f"{address}/index.html")
    page.keyboard.press("/")
    page.keyboard.type("FuseOps")
    first = page.locator(".md-search-result__item a").first
    first.wait_for()
    assert "passes.html" in first.get_attribute("href") and outside == []
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/passes.html*")
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_pages_fit_on_the_screen(size: str, scheme: str, address: str, browser: Any, site: Path) -> None:
    """Only what is in a frame of its own, code and wide tables, may be wider. Pictures are in the colours of the page."""
    wide, high = SIZES[size]
    context = browser.new_context(viewport={"width": wide, "height": high}, color_scheme=scheme)
    page = context.new_page()
    for path in sorted(site.glob("*.html")):
        page.goto(f"{address}/{path.name}")
        assert page.evaluate("document.documentElement.scrollWidth") <= wide, path.name
        if path.name in ("index.html", "tutorial.html", "passes.html"):
            assert faint_texts(page, 4.4).keys() <= {"a.headerlink"}, path.name  # that shows where the mouse is
    page.goto(f"{address}/index.html")
    assert page.evaluate("getComputedStyle(document.body).colorScheme") == scheme
    if folder := os.environ.get("IRTOOL_SCREENSHOTS"):
        page.screenshot(path=Path(folder, f"site-{size}-{scheme}.png"), full_page=True)
    context.close()


def test_lines_of_relay_are_no_commands(site: Path) -> None:
    """In sessions, what irtool prints is not coloured as what is typed."""
    html = (site / "index.html").read_text(encoding="utf-8")
    output = [line for line in html.splitlines() if "%2 = " in line or "#[version" in line]
    assert len(output) >= 2 and all('class="gp"' not in line and 'class="go"' in line for line in output)
