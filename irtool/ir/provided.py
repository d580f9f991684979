"""What nodes, types and modules of Relay ask of higher layers: text, operators, arithmetic, definitions of the standard library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..hooks import Hook

if TYPE_CHECKING:
    from .expr import Call, Expr, Op
    from .module import Module
    from .types import Type

text_of: Hook[[Any], str] = Hook("ir.text_of")
to_text: Hook[..., str] = Hook("ir.to_text")
to_html: Hook[[Any], str] = Hook("ir.to_html")
show_expr: Hook[[Expr], str] = Hook("ir.show_expr")
show_type: Hook[[Type], str] = Hook("ir.show_type")

freeze: Hook[[Any], tuple[Any, tuple[list[Any]]]] = Hook("ir.freeze")
missing_attribute: Hook[[Any, str], AttributeError] = Hook("ir.missing_attribute")

operator: Hook[..., Any] = Hook("ir.operator")
operator_type: Hook[..., Any] = Hook("ir.operator_type")
operators: Hook[..., Any] = Hook("ir.operators")
op: Hook[[str], Op] = Hook("ir.op")
call: Hook[..., Call] = Hook("ir.call")

as_expr: Hook[[Any, str], Expr] = Hook("ir.as_expr")
binary: Hook[[str, Any, Any], Any] = Hook("ir.binary")
negative: Hook[[Expr], Call] = Hook("ir.negative")
field_count: Hook[[Expr], int | None] = Hook("ir.field_count")

standard_library: Hook[[str], Module] = Hook("ir.standard_library")
