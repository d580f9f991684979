"""`tvm.ir`: modules, types, and comparing by structure."""

from __future__ import annotations

from ...diagnostics import UsageError
from ...ir import (
    FuncType,
    GlobalVar,
    IncompleteType,
    Module,
    Op,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
)
from ...ir.module import Module as IRModule
from ...ir.structural import structural_equal, structural_hash

__all__ = [
    "FuncType",
    "GlobalVar",
    "IRModule",
    "IncompleteType",
    "Module",
    "Op",
    "RefType",
    "TensorType",
    "TupleType",
    "Type",
    "TypeCall",
    "TypeVar",
    "assert_structural_equal",
    "structural_equal",
    "structural_hash",
]


def assert_structural_equal(lhs: object, rhs: object, map_free_vars: bool = False) -> None:
    """Raises UsageError, which is a ValueError, too, if the two differ in structure."""
    if not structural_equal(lhs, rhs):
        raise NotEqual(f"the two differ in structure:\n{lhs}\n{rhs}")


class NotEqual(UsageError, ValueError):
    """Two that should be equal in structure are not."""
