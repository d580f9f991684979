"""Texts in canonical layout, but for those whose layout is the point of them."""

from __future__ import annotations

import os
import re
import tempfile
from contextvars import ContextVar

_examined: ContextVar[bool] = ContextVar("examined", default=False)
"""True while a golden file runs to find out if its layout matters."""

_OFF = re.compile(r"^\s*//\s*irtool fmt:\s*off\s*$", re.MULTILINE)


def laid_out(path: str, text: str, name: str) -> tuple[str, str]:
    """A text in canonical layout; or as it is, and why it is kept. Raises IrError for a text with errors, unless it is a golden
    file: then errors are what it is about."""
    from ..diagnostics import IrError
    from ..printer.layout import lay_out
    from .goldens.cases import split_texts
    from .goldens.directives import is_golden
    from .goldens.expected_text import LINE

    if _OFF.search(text):
        return text, "it says so (irtool fmt: off)"
    is_test = is_golden(text)
    try:
        layout = f"{LINE}\n".join(lay_out(part, name) for part in split_texts(text)) if is_test else lay_out(text, name)
    except IrError as error:
        if not is_test or error.exit_code != 1:
            raise
        return text, "it is a golden file with errors in its text"
    if is_test and layout != text and path != "-" and _depends_on_layout(path, layout):
        return text, "its expected output depends on its layout"
    return layout, ""


def _depends_on_layout(path: str, layout: str) -> bool:
    """True for a golden file that passes now and would not in that layout: its output has lines and columns of it, say.

    It is run beside links to all that is in its folder, so that nothing there changes. What it runs asks no more: a golden file
    of `irtool fmt` itself would be run without end.
    """
    from .goldens.golden import passes

    if _examined.get():
        return False
    token = _examined.set(True)
    try:
        return _fails(path, layout) and passes(path)
    finally:
        _examined.reset(token)


def _fails(path: str, layout: str) -> bool:
    from .goldens.golden import passes

    folder, name = os.path.split(os.path.abspath(path))
    with tempfile.TemporaryDirectory(prefix="irtool-fmt-") as temporary:
        for other in os.listdir(folder):
            if other != name:
                os.symlink(os.path.join(folder, other), os.path.join(temporary, other))
        copy = os.path.join(temporary, name)
        with open(copy, "w", encoding="utf-8") as out:
            out.write(layout)
        return not passes(copy)
