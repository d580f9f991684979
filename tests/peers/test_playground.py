"""The playground in Chromium: it loads, shows steps and C, keeps a text in its address, and asks no other host for anything."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.peers.screens import SIZES, faint_texts
from tests.peers.served_site import serve

LAYER = "def @main(%x: Tensor[(1, 3), float32]) { nn.softmax(nn.relu(%x)) }"
SECONDS = 120.0
"""The longest wait, on a machine that does other work as well; see docs/playground.md for the time of a first load."""


@pytest.fixture(scope="module")
def address(request: pytest.FixtureRequest, site: Path) -> Iterator[str]:
    with serve(site) as address:
        yield address


def answered(page: Any, count: int) -> None:
    """Waits until the page has shown so many answers."""
    page.wait_for_function(
        "n => Number(document.getElementById('playground-form').dataset.answers) >= n || state.textContent === 'failed'",
        arg=count,
        timeout=SECONDS * 1000,
    )
    assert page.inner_text("#state") != "failed", page.inner_text("#messages")


@pytest.fixture(scope="module")
def page(address: str, browser: Any) -> Iterator[Any]:
    """The page with an example open."""
    page = browser.new_page()
    outside: list[str] = []
    page.on("request", lambda r: None if r.url.startswith((address, "about:")) else outside.append(r.url))
    page.goto(f"{address}/playground.html#example=samples/layer.relay")
    answered(page, 1)
    yield page
    assert outside == []
    page.close()


def run(page: Any, text: str, passes: str) -> None:
    count = int(page.get_attribute("#playground-form", "data-answers"))
    page.fill("#text", text)
    page.fill("#passes", passes)
    page.click("#run")
    answered(page, count + 1)


def test_an_example_opens(page: Any) -> None:
    assert page.input_value("#text") == Path("samples/layer.relay").read_text()
    assert page.input_value("#file") == "net.c" and "int net_run(" in page.inner_text("#code")
    assert page.is_hidden("#messages")


def test_steps_show_text_and_drawing(page: Any) -> None:
    run(page, LAYER, "SimplifyInference,FuseOps")
    steps = page.frame_locator("#steps")
    steps.locator("#step").fill("2")
    steps.get_by_text("Primitive=1").first.wait_for()
    assert steps.locator("svg .node").count() >= 1
    page.select_option("#file", "net.h")
    assert "int net_run(const float *x, float *out);" in page.inner_text("#code")


def test_mistakes_are_shown_where_they_are(page: Any) -> None:
    run(page, LAYER.replace("nn.relu", "nn.rleu"), "")
    assert "net.relay:1:" in page.inner_text("#messages") and "^" in page.inner_text("#messages")
    assert page.inner_text("#code") == ""


def test_a_link_has_the_text_and_the_passes(page: Any, address: str, browser: Any) -> None:
    run(page, LAYER, "FuseOps")
    page.click("#share")
    page.wait_for_function("location.hash.startsWith('#m=')")
    other = browser.new_page()
    other.goto(page.url)
    other.wait_for_function("document.getElementById('text').value !== ''")
    assert (other.input_value("#text"), other.input_value("#passes")) == (LAYER, "FuseOps")
    other.close()


def test_pages_link_to_the_playground(address: str, browser: Any) -> None:
    page = browser.new_page()
    page.goto(f"{address}/web.html")
    page.get_by_role("link", name="Open in the playground").first.click()
    page.wait_for_function("document.getElementById('text')?.value.includes('nn.softmax(nn.dense(%x, %w, units=3))')")
    page.close()


def test_a_damaged_link_says_so(address: str, browser: Any) -> None:
    page = browser.new_page()
    page.goto(f"{address}/playground.html#m=!!")
    page.wait_for_function("document.getElementById('text').value !== ''")
    page.goto(f"{address}/playground.html#m=AAAA")
    page.get_by_text("the address behind # is damaged").wait_for()
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_it_fits_on_the_screen(size: str, scheme: str, address: str, browser: Any) -> None:
    wide, high = SIZES[size]
    context = browser.new_context(viewport={"width": wide, "height": high}, color_scheme=scheme)
    page = context.new_page()
    page.goto(f"{address}/playground.html#example=samples/simplenet.relay")
    answered(page, 1)
    assert page.evaluate("document.documentElement.scrollWidth") <= wide
    assert faint_texts(page, 4.4).keys() <= {"a.headerlink"}
    if folder := os.environ.get("IRTOOL_SCREENSHOTS"):
        page.wait_for_timeout(500)
        page.screenshot(path=Path(folder, f"playground-{size}-{scheme}.png"), full_page=True)
    context.close()
