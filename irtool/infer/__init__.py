"""Type inference: a type for every expression of a module, or errors that say why it has no type."""

import importlib
from typing import TYPE_CHECKING, Any

from .infer import infer_afresh, infer_expr, infer_known_types, infer_types
from .specialize import param_types, require_types, specialize

if TYPE_CHECKING:
    from .partial import PartialTypes, UnknownNode, infer_partial

__all__ = [
    "PartialTypes",
    "UnknownNode",
    "infer_afresh",
    "infer_expr",
    "infer_known_types",
    "infer_partial",
    "infer_types",
    "param_types",
    "require_types",
    "specialize",
]

_PARTIAL = ("PartialTypes", "UnknownNode", "infer_partial")
"""Imported on first use, since most commands infer whole types only."""


def __getattr__(name: str) -> Any:
    if name not in _PARTIAL:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(".partial", __name__), name)
