"""The changes that the site of docs/ makes to pages, as far as that needs no MkDocs, and its build."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("html", "options"),
    [
        ("<code>--params</code>", ["--params"]),
        ("<code>irtool build -o out/ --emit=so</code>", ["-o", "--emit"]),
        ("<code>--no-verify-weights</code>", ["--no-verify-weights"]),
        ("<p>--params, and a-b</p>", []),
        ("<code>x86-64-v3 -1 a--b</code>", []),
        ("<pre><span></span><code><span>irtool --params</span></code></pre>", ["--params"]),
    ],
)
def test_options_are_not_broken_behind_their_hyphens(html: str, options: list[str]) -> None:
    path = ROOT / "docs" / "theme" / "options.py"
    spec = importlib.util.spec_from_file_location("options_hook", path)
    assert spec is not None and spec.loader is not None
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    page = hook.on_page_content(html)
    assert re.findall(r'<span class="option">(.*?)</span>', page) == options
    assert re.sub(r'<span class="option">(.*?)</span>', r"\1", page) == html
    assert "docs/theme/options.py" in (ROOT / "mkdocs.yml").read_text()
    css = (ROOT / "docs" / "theme" / "site.css").read_text()
    assert re.search(r"code \.option \{ white-space: nowrap; \}", css)


def test_make_docs_is_quiet() -> None:
    """MkDocs advertises another tool unless it is told not to, even with --quiet."""
    (line,) = re.findall(r"^\t(.*mkdocs build.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert line.startswith("NO_MKDOCS_2_WARNING=1 ") and "--strict --quiet" in line
