"""The page of `irtool viz` in headless Chromium, at three sizes, light and dark: drawn, moved through by keys, searched, opened.

Pictures are written to the folder that IRTOOL_SCREENSHOTS names, if it names one.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from irtool.viz.drawing import BLOCK
from irtool.viz.html import write_html
from tests.command_line import irtool as command
from tests.peers.screens import SIZES, faint_texts
from tests.viz.drawings import draw, layers

NET = """#[version = "0.0.5"]
def @main(%x: Tensor[(64, 96), float32], %w: Tensor[(128, 96), float32]) {
  nn.softmax(nn.relu(nn.dense(%x, %w, units=128)))
}
"""


@pytest.mark.parametrize("size", SIZES)
def test_a_page_of_a_schedule(size: str, browser: Any, tmp_path: Path) -> None:
    net, path = tmp_path / "net.relay", tmp_path / "loops.html"
    net.write_text(NET, encoding="utf-8")
    assert command("viz", net, "--schedule", "--target=c{mcpu=none}", "-o", path) == (0, "", "")
    wide, high = SIZES[size]
    context = browser.new_context(viewport={"width": wide, "height": high})
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda e: wrong.append(str(e)))
    page.goto(path.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= wide
    group, count = "document.getElementById('group').selectedOptions[0].text", "#count"
    stages = page.locator("#group option").all_inner_texts()
    assert len(stages) > 2 and page.evaluate(group) == stages[0]
    last = int(page.inner_text(count).split(" of ")[1])
    assert page.inner_text(count) == f"1 of {last}"
    page.keyboard.press("]")
    assert page.inner_text(count) == f"2 of {last}" and page.evaluate(group) == stages[0]
    page.keyboard.press("}")
    assert page.evaluate(group) == stages[1] and not page.inner_text("#pass").startswith(stages[1])
    page.keyboard.press("{")
    assert page.inner_text(count) == f"1 of {last}"
    page.select_option("#group", label=stages[-1])
    assert page.evaluate(group) == stages[-1] and page.locator(".view:visible").count() == 1
    inside = page.evaluate(
        "(() => { const a = document.getElementById('step').getBoundingClientRect(), b = document.getElementById('next').getBoundingClientRect();"
        " return b.left >= a.right && Math.abs(a.top + a.bottom - b.top - b.bottom) < 4; })()"
    )
    assert inside and wrong == []  # the slider and its buttons stand in one row
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_the_page(size: str, scheme: str, browser: Any, tmp_path: Path) -> None:
    drawing = draw(layers(5))
    path = tmp_path / "net.html"
    path.write_text(write_html(drawing), encoding="utf-8")
    wide, high = SIZES[size]
    context = browser.new_context(viewport={"width": wide, "height": high}, color_scheme=scheme)
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda e: wrong.append(str(e)))
    page.on("console", lambda m: wrong.append(m.text) if m.type == "error" else None)
    page.on("request", lambda r: None if r.url.startswith("file:") else wrong.append(r.url))
    page.goto(path.as_uri())
    focused = "document.activeElement.getAttribute('aria-label') || document.activeElement.id"
    assert page.evaluate("document.documentElement.dataset.ready") == "yes"
    assert page.evaluate("document.documentElement.scrollWidth") <= wide
    page.keyboard.press("ArrowDown")
    assert page.evaluate(focused).startswith("%x, an input")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.evaluate(focused).startswith("block A")
    assert page.locator("#text .here").count() >= 1
    assert page.locator(".node.tanh, .inside:visible").count() == 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.evaluate(focused).startswith("dense")
    overlaps = page.evaluate(
        """() => { const boxes = [...document.querySelectorAll('.node')].filter((n) => n.checkVisibility())
            .map((n) => [n, n.querySelector(':scope > .box').getBoundingClientRect()]);
          let found = 0;
          for (const [m, a] of boxes) for (const [n, b] of boxes)
            if (m !== n && !m.contains(n) && !n.contains(m) && a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom) found++;
          return found; }"""
    )
    assert overlaps == 0
    assert faint_texts(page, 4.5) == {}
    if folder := os.environ.get("IRTOOL_SCREENSHOTS"):
        page.screenshot(path=Path(folder, f"{size}-{scheme}.png"))
    page.keyboard.press("/")
    page.keyboard.type("tanh")
    assert page.inner_text("#found") == "5 found"
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert page.inner_text("#found") == "2 of 5" and page.inner_text("#about h2") == "tanh"
    page.keyboard.press("Escape")
    page.keyboard.press("o")
    blocks = sum(n.kind == BLOCK for n in drawing.nodes())
    assert page.locator(".node.open").count() == blocks == 5
    page.keyboard.press("c")
    assert page.locator(".node.open").count() == 0
    assert wrong == []
    context.close()
