"""Extents that follow from values, and that a call needs to be equal to others: runs compare them.

::

    concatenate((%a, %b), axis=1)   ⇒   %c = length.equal(%b, length.matches(shape_of(%b), shape=[count_0, 4]), shape=[count_0, 4]);
                                        concatenate((%a, %c), axis=1)                where %a is [count_0, 4], and %b is [count_1, 4]

Inference says which comparisons of extents failed. The extents are made equal one by one, until the call has a type.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ...diagnostics import IrError
from ...infer.infer import infer_expr
from ...ir import Call, Expr, Module, TensorType, Tuple
from ...ops.base import call
from ...symbolic_int import symbol_of, symbols_of, uncertain_equalities_kept
from .fresh import Fresh

_MOST = 16
"""Extents of one call that are made equal."""


def typed(e: Expr, module: Module, fresh: Fresh) -> Expr:
    """The expression with its type, over typed operands whose lengths are made equal where it has none otherwise."""
    for _ in range(_MOST):
        try:
            with uncertain_equalities_kept():
                return infer_expr(e, module)
        except IrError as error:
            changed = _with_equal_extents(e, error, fresh) if isinstance(e, Call) else None
            if changed is None:
                raise
            e = changed
    return infer_expr(e, module)


def _with_equal_extents(e: Call, error: IrError, fresh: Fresh) -> Expr | None:
    """The call after one more extent was made equal to another one; None if no comparison was of a length that follows from values."""
    pairs = error.diagnostics[0].lengths
    for a, b in sorted(pairs, key=lambda p: 1 in p):  # a broadcast compares with 1 too
        for extent, other in ((a, b), (b, a)) if _comes_before(b, a, fresh) else ((b, a), (a, b)):
            if not fresh.has_any([extent]):
                continue
            changed = _mapped(e, partial(_equal, extent, other))
            if changed is not None:
                return changed
    return None


def _comes_before(a: int, b: int, fresh: Fresh) -> bool:
    """True if `a` is to stand for both: a number, a length of callers, or the simpler formula."""
    return (fresh.has_any([a]), symbol_of(a) is None and bool(symbols_of([a]))) < (
        fresh.has_any([b]),
        symbol_of(b) is None and bool(symbols_of([b])),
    )


def _mapped(e: Call, change: Callable[[Expr], Expr | None]) -> Expr | None:
    """The call with changed operands, and fields of operands; None if none changed."""
    is_changed = False
    args: list[Expr] = []
    for x in e.args:
        parts = list(x.fields) if isinstance(x, Tuple) else [x]
        changed = [change(p) for p in parts]
        if any(c is not None for c in changed):
            is_changed = True
            parts = [p if c is None else c for p, c in zip(parts, changed, strict=True)]
            x = infer_expr(Tuple(tuple(parts), x.span)) if isinstance(x, Tuple) else parts[0]
        args.append(x)
    return Call(e.op, tuple(args), e.attrs, e.type_args, e.span) if is_changed else None


def _equal(old: int, new: int, x: Expr) -> Expr | None:
    """A tensor under a shape that has one extent in the place of another; None for a tensor without that one."""
    t = x.checked_type
    if not isinstance(t, TensorType):
        return None
    axes = [n for n, d in enumerate(t.shape) if isinstance(d, int) and d == old]
    if not axes:
        return None
    shape = [new if n in axes else d for n, d in enumerate(t.shape)]
    matches = call("length.matches", call("shape_of", x, dtype="int64"), shape=shape)
    return infer_expr(call("length.equal", x, matches, shape=shape, span=x.span))
