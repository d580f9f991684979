"""Attributes whose value is a symbolic dimension: a rule that computes with them may need their numbers."""

from __future__ import annotations

from typing import Any

from ..ir import ANY, DimExpr, DimVar
from ..ir.attributes import stated


def symbolic_attribute(attrs: Any) -> str:
    """The name of an attribute in which a symbolic dimension or `?` stands, or the empty string."""
    for name, value in stated(attrs):
        stack = [value]
        while stack:
            v = stack.pop()
            if v is ANY or isinstance(v, DimVar | DimExpr):
                return name
            if isinstance(v, tuple | list):
                stack.extend(v)
    return ""
