"""What Python's own protocols ask of nodes, and those who know all nodes answer: `str(module)`, `x + y`, `a, b = call`, `repr`, pickling.

A node knows nothing of the printer, of operators, of inference, nor of what walks over all kinds of nodes. So these conveniences
are found by name when they are used, as the registries find their modules, and nothing is imported for a program that
does not use them. So is the quantizer of a build in 8 bits, which calibrates by programs that the driver builds, and what has
TVM's names on nodes, patterns and builds (`astext`, `pattern.match(e)`, `lib["default"]`), and the importer that puts operators in
the place of nodes of ONNX once their extents are known. Nothing else is found this way.
"""

from __future__ import annotations

import importlib
from typing import Any


def from_above(module: str, name: str) -> Any:
    """`irtool.MODULE.NAME`, imported now."""
    return getattr(importlib.import_module(f"irtool.{module}"), name)


def text_of(node: Any) -> str:
    """The text of a node as `print` shows it: without the version line and without the metadata section."""
    text = from_above("printer", "to_text")(node, metadata=False)
    return text.removeprefix(from_above("printer.text", "VERSION")).rstrip("\n")
