"""Reproducers: one self-contained file with the module and the command that shows a bug."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Sequence


def write_reproducer(error: BaseException, arguments: Sequence[str], path: str | None = None) -> str:
    """Writes the module that a failing pass was given with the command that runs it, and returns the file's path.

    `arguments` are further options of that command; where no pass failed, the whole command line, and the input file is
    what is written. Returns the empty string where not even that can be written.
    """
    module, failed = getattr(error, "module", None), getattr(error, "failed", None)
    if failed is not None and module is not None:
        from ..printer import to_text

        options = shlex.join([f"--passes={failed.text()}", *arguments])
        head = f"// RUN: irtool opt {options} %s\n"
        text = head + to_text(module)
    else:
        text = f"// RUN: irtool {shlex.join(arguments)}\n" + _input_text(arguments)
    try:
        if path is None:
            handle, path = tempfile.mkstemp(prefix="irtool-", suffix=".relay")
            os.close(handle)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
    except OSError:
        return ""
    return path


def _input_text(arguments: Sequence[str]) -> str:
    for a in arguments:
        if a.endswith(".relay") and os.path.isfile(a):
            with open(a, encoding="utf-8", errors="replace") as source:
                return source.read(1 << 20)
    return ""
