"""The Python side of the playground, run here; tests/peers/test_playground.py runs the page in a browser."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import zlib
from base64 import urlsafe_b64decode
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r'^```relay(?: title="[^"\n]*")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
WRONG = {"docs/golden-tests.md": 3, "docs/extending.md": 1, "docs/write-an-operator.md": 1}
"""The number of examples of pages with a mistake that the page is about, or with an operator that the page defines."""


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def session() -> ModuleType:
    return load(ROOT / "docs" / "playground" / "session.py")


def answer(session: ModuleType, text: str, passes: str = "") -> dict[str, Any]:
    result: dict[str, Any] = session.answer({"text": text, "passes": passes, "vector": False})
    assert "bug in irtool" not in result["messages"], result["messages"]
    return result


def test_steps_and_c(session: ModuleType) -> None:
    result = answer(session, (ROOT / "samples" / "layer.relay").read_text(), "SimplifyInference,FuseOps")
    assert [s["title"] for s in result["changes"]] == ["input", "SimplifyInference", "FuseOps"]
    assert result["messages"] == "" and "Primitive=1" in result["steps"]
    assert sorted(result["files"]) == ["net.c", "net.h"] and "int net_run(" in result["files"]["net.c"]


@pytest.mark.parametrize(
    ("text", "passes", "message", "count"),
    [
        ("def @main(%x: Tensor[(1, 3), float32]) { nn.rleu(%x) }", "", "net.relay:1:42: error", 0),
        ("def @main(%x: Tensor[(1, 3), float32]) { nn.relu(%x) }", "FuseOpps", "FuseOps", 1),
        ("def @main(%x: Tensor[(1, 3), float32]) { nn.relu(%x) }", "FuseOps{depth=1}", "depth", 1),
        ("", "", "main", 1),
        ("def @main() {", "", "error", 0),
    ],
)
def test_mistakes_are_messages(session: ModuleType, text: str, passes: str, message: str, count: int) -> None:
    """A mistake in the text has no steps; one in the passes leaves those before it. There is no C."""
    result = answer(session, text, passes)
    assert message in result["messages"] and len(result["changes"]) == count and result["files"] == {}


def page_examples() -> list[tuple[str, str]]:
    pages = sorted((ROOT / "docs").glob("*.md"))
    return [(f"docs/{p.name}", text) for p in pages for text in BLOCK.findall(p.read_text()) if "def " in text]


def test_every_example_opens(session: ModuleType) -> None:
    """Those of samples/ become C, too; a page's may be there to show a mistake."""
    for path in sorted((ROOT / "samples").glob("*.relay")):
        result = answer(session, path.read_text())
        assert result["steps"] and result["files"], f"{path.name}: {result['messages']}"
    wrong: dict[str, int] = {}
    for page, text in page_examples():
        if not answer(session, text)["steps"]:
            wrong[page] = wrong.get(page, 0) + 1
    assert wrong == WRONG


def test_addresses_have_the_text() -> None:
    """The hook writes fragments as the page reads them: raw DEFLATE in base64 with `-` and `_`, without `=`."""
    pytest.importorskip("mkdocs")
    sys.path.insert(0, str(ROOT / "docs" / "theme"))
    try:
        hook = load(ROOT / "docs" / "theme" / "playground.py")
    finally:
        sys.path.pop(0)
    text = 'def @main() { "ä" }\n' * 50
    page, _, packed = hook.address(text, "FuseOps").partition("#m=")
    assert page == "playground.md" and re.fullmatch(r"[\w-]+", packed) and len(packed) < 200
    content = zlib.decompress(urlsafe_b64decode(packed + "=" * (-len(packed) % 4)), -zlib.MAX_WBITS)
    assert json.loads(content) == {"text": text, "passes": "FuseOps"}
