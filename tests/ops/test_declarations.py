"""Operators declare what `declarations.txt` says."""

from tests.ops.declarations import FILE, text


def test_operators_declare_what_is_known() -> None:
    assert text() == FILE.read_text(encoding="utf-8"), "python -m tests.ops.declarations writes it anew"
