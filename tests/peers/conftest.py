"""Chromium without a window, for tests of pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="module")
def browser(request: pytest.FixtureRequest) -> Iterator[Any]:
    if not request.config.getoption("--peers"):
        pytest.skip("only with --peers")
    playwright = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("there is no Chromium")
    with playwright.sync_playwright() as p:
        chromium_browser = p.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield chromium_browser
        chromium_browser.close()
