"""What notebooks show."""

from __future__ import annotations

import re
from html import unescape
from xml.etree import ElementTree

import pytest

import irtool

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 8), float32]) { nn.relu(annotation.compiler_begin(%x, compiler="<b>&")) }
"""


def test_modules_and_expressions_are_in_colour() -> None:
    module = irtool.infer_types(irtool.parse(TEXT))
    for node in (module, module["main"].body):
        shown = node._repr_html_()
        root = ElementTree.fromstring(shown)
        assert "".join(root.itertext()).strip() == str(node).strip()
        assert root.findall(".//span[@style]"), "no colour"
        assert "<b>" not in shown


def test_long_texts_are_cut_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("irtool.printer.html._LONGEST", 30)
    module = irtool.parse(TEXT)
    shown = module._repr_html_()
    assert f"{len(str(module)) - 30} more characters" in unescape(shown)
    ElementTree.fromstring(shown)


def test_artifacts_are_tables() -> None:
    shown = irtool.build(
        irtool.parse(TEXT.replace('annotation.compiler_begin(%x, compiler="<b>&")', "%x"))
    )._repr_html_()
    root = ElementTree.fromstring(shown)
    assert [c.text for c in root.findall(".//td")][:5] == ["inputs", "x", "float32", "1 x 8", "32"]
    assert re.search(r"1 kernels?, arena 0 bytes", "".join(root.itertext()))
    assert len(root.findall(".//table")) == 2
