"""Operators, one file per family. `base` defines operators; the registry finds every module of this package."""

from .base import DType, Operator, Pattern, RelationError, Reporter, call, is_call_to, op, operator, operators

__all__ = [
    "DType",
    "Operator",
    "Pattern",
    "RelationError",
    "Reporter",
    "call",
    "is_call_to",
    "op",
    "operator",
    "operators",
]
