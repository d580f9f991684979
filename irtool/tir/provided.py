"""What statements and expressions of loop nests ask of the modules that know all of their kinds: text and structure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..hooks import Hook

if TYPE_CHECKING:
    from .nodes import Expr
    from .stmt import PrimFunc, Stmt

show_expr: Hook[[Expr], str] = Hook("tir.show_expr")
show_stmt: Hook[[Stmt], str] = Hook("tir.show_stmt")
show_function: Hook[[PrimFunc], str] = Hook("tir.show_function")
structural_words: Hook[[PrimFunc], list[Any]] = Hook("tir.structural_words")
