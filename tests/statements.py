"""Statements of Python files, for tests of the project's own source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path


def statements(path: Path, for_types: bool = False) -> Iterator[ast.stmt]:
    """All statements of a file, those inside others included; blocks that only type checkers read with `for_types` alone.

    Expressions are not walked: imports are found in a fifth of the time that `ast.walk` takes.
    """
    stack: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while stack:
        node = stack.pop()
        if not for_types and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.stmt):
            yield node
        for field in ("body", "orelse", "handlers", "finalbody", "cases"):
            inner = getattr(node, field, ())
            stack += inner if isinstance(inner, list) else ()
