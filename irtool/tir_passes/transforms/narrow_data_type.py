"""Loop variables in fewer bits, if every expression of them fits."""

from __future__ import annotations

from ...tir import dtypes
from ...tir.expr import BUILDERS, Binary, Const, Expr, Load, Select, Var, cast, children, post_order, rebuild, select
from ...tir.sharing import loop_bounds
from ...tir.simplify import Simplifier
from ...tir.stmt import For, Let, PrimFunc, Stmt, Store, expressions, pre_order, rewrite_stmt

_SAME_IN_ALL_WIDTHS = frozenset(["+", "-", "*", "floordiv", "floormod", "truncdiv", "truncmod", "min", "max"])
"""Operations on integers that give the same number in every dtype that holds operands and result."""
_COMPARISONS = frozenset(["<", "<=", "==", "!="])


def narrow_data_types(f: PrimFunc, target_bits: int) -> PrimFunc:
    """The function whose loop variables are integers of `target_bits`, unless a number computed from them may not fit.

    Indices, bounds of loops and comparisons are computed in the narrower dtype. What is stored keeps its own.
    """
    loops = [s.var for s in pre_order(f.body) if isinstance(s, For) and _is_wider(s.var, target_bits)]
    wide = _wide_variables(f, target_bits)
    narrowed: dict[Expr, Var] = {v: Var(v.name, f"int{target_bits}") for v in loops if v not in wide}
    if not narrowed:
        return f
    memo: dict[Expr, Expr] = dict(narrowed)

    def narrow(root: Expr) -> Expr:
        for e in post_order(root, known=memo):
            memo[e] = _over(e, [memo[k] for k in children(e)])
        return memo[root]

    def change(s: Stmt) -> Stmt:
        if isinstance(s, For):
            v = narrowed.get(s.var, s.var)
            return For(v, cast(s.extent, v.dtype), s.body, s.kind)
        if isinstance(s, Store):
            return Store(s.buffer, s.indices, cast(s.value, s.buffer.dtype))
        return Let(s.var, cast(s.value, s.var.dtype), s.body) if isinstance(s, Let) else s

    return f.with_body(rewrite_stmt(f.body, change, narrow))


def _is_wider(e: Expr, bits: int) -> bool:
    return dtypes.is_int(e.dtype) and not dtypes.is_unsigned(e.dtype) and dtypes.bits(e.dtype) > bits


def _wide_variables(f: PrimFunc, target_bits: int) -> set[Expr]:
    """The variables of which a number is made that may not fit, even if only a part of an index is."""
    simplify = Simplifier(loop_bounds(f))
    low, high = dtypes.int_range(f"int{target_bits}")
    wide: set[Expr] = set()
    seen: set[tuple[Expr, bool]] = set()
    stack: list[tuple[Expr, bool]] = []
    for s in pre_order(f.body):
        stack += [(e, False) for e in expressions(s)]
        stack += [(s.var, False)] if isinstance(s, For) else []
    while stack:
        e, is_wide = stack.pop()
        if _is_wider(e, target_bits) and not is_wide:
            a, b = simplify.range(e)
            is_wide = a < low or b > high
        if (e, is_wide) in seen:
            continue
        seen.add((e, is_wide))
        if is_wide and isinstance(e, Var):
            wide.add(e)
        stack += [(k, is_wide) for k in children(e)]
    return wide


def _over(e: Expr, kids: list[Expr]) -> Expr:
    """The same number over operands of which some are narrower than before."""
    before = children(e)
    if all(a is b for a, b in zip(before, kids, strict=True)):
        return e
    if isinstance(e, Load):
        return Load(e.source, tuple(kids))
    if isinstance(e, Binary) and e.op in _SAME_IN_ALL_WIDTHS | _COMPARISONS and dtypes.is_int(e.a.dtype):
        return BUILDERS[e.op](*_alike(*kids))
    if isinstance(e, Select) and dtypes.is_int(e.dtype) and not e.lazy:
        return select(kids[0], *_alike(*kids[1:]))
    return rebuild(e, [cast(k, b.dtype) for k, b in zip(kids, before, strict=True)])


def _alike(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """Both in the narrower dtype, if the wider one is a number that it holds, else both in the wider one."""
    if a.dtype == b.dtype:
        return a, b
    narrow, wide = sorted((a.dtype, b.dtype), key=dtypes.bits)
    other = a if a.dtype == wide else b
    low, high = dtypes.int_range(narrow)
    dtype = narrow if isinstance(other, Const) and low <= other.value <= high else wide
    return cast(a, dtype), cast(b, dtype)
