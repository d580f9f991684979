"""Marks on the edges of regions: `annotation.compiler_begin` on inputs, `annotation.compiler_end` on outputs.

The compiler named `default` is irtool itself.
"""

from __future__ import annotations

from typing import TypeGuard

from ...ir import Call, Expr
from ...ops.base import call, is_call_to

DEFAULT = "default"
_BEGIN = "annotation.compiler_begin"
_END = "annotation.compiler_end"


def begin(e: Expr, compiler: str) -> Call:
    """`e` as an input of a region."""
    return call(_BEGIN, e, span=e.span, compiler=compiler)


def end(e: Expr, compiler: str) -> Call:
    """`e` as an output of a region."""
    return call(_END, e, span=e.span, compiler=compiler)


def is_begin(e: Expr) -> TypeGuard[Call]:
    """True if a region begins here."""
    return is_call_to(e, _BEGIN)


def is_end(e: Expr) -> TypeGuard[Call]:
    """True if a region ends here."""
    return is_call_to(e, _END)


def is_mark(e: Expr) -> TypeGuard[Call]:
    """True if a region begins or ends here."""
    return is_call_to(e, _BEGIN, _END)


def compiler_of(mark: Call) -> str:
    """The compiler that a mark names."""
    return mark.attrs.compiler
