"""Simplification of integer arithmetic, with the ranges of loop variables.

Sums are kept as linear forms (atoms with coefficients, and a constant). On these,

    (4*i + j) floordiv 4  ⇒  i          where 0 <= j < 4
    (4*i + j) floormod 4  ⇒  j
    4*(i floordiv 4) + i floormod 4  ⇒  i
    (i floormod 8) floordiv 4  ⇒  (i floordiv 4) floormod 2
    i < 8  ⇒  True                       where 0 <= i < 8

Only int32 and int64 are treated so; a claim about a range is made only where nothing can wrap.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..symbolic_int import Undecided, as_integer, bound, greatest, greatest_common_divisor, holds, is_open, least
from . import dtypes
from .expr import (
    QUOTIENTS,
    Axis,
    Binary,
    Cast,
    Const,
    Expr,
    Select,
    Var,
    children,
    const,
    post_order,
    rebuild,
    rewrite,
)
from .interning import Interner

Range = tuple[float, float]
Linear = tuple[dict[Expr, int], int]

_INDEX = ("int32", "int64")
_LINEAR = ("+", "-", "*")
_INT32 = (-0x80000000, 0x7FFFFFFF)
_WHOLE: Range = (-math.inf, math.inf)


class Simplifier:
    """Simplifies expressions over variables whose ranges (inclusive) are `bounds`; an `Axis` knows its own."""

    def __init__(self, bounds: Mapping[Any, Range] | None = None) -> None:
        self.bounds: dict[Expr, Range] = dict(bounds or {})
        self._memo: dict[Expr, Expr] = {}
        interner = Interner()
        self._intern = interner.unique
        self._interned = interner.table
        self._linear: dict[Expr, Linear] = {}
        self._ranges: dict[Expr, Range] = {}

    def __call__(self, e: Expr) -> Expr:
        """The simplified expression; of equal parts one object is made."""
        known = self._memo.get(e)
        return rewrite(e, self._change, self._memo) if known is None else known

    def at(self, root: Expr, memo: dict[Expr, Expr]) -> Expr:
        """A simplified expression with other values for variables; `memo` has these first, and then the replacement of each part.

        A sum is taken as a whole, by its linear form, and not number by number.
        """
        expr = memo.get(root)
        if expr is not None:
            return expr
        stack = [root]
        while stack:
            e = stack[-1]
            if e in memo:
                stack.pop()
                continue
            form = self._form(e) if isinstance(e, Binary) and e.dtype in _INDEX and e.op in _LINEAR else None
            whole = form is not None and e not in form[0]
            kids: Iterable[Expr] = form[0] if form is not None and whole else children(e)
            missing = [k for k in kids if k not in memo]
            if missing:
                stack += missing
                continue
            stack.pop()
            if all(memo[k] is k for k in kids):
                memo[e] = e
                continue
            if form is not None and whole:
                total: Linear = {}, form[1]
                for atom, k in form[0].items():
                    total = self._combine(total, self._form(memo[atom]), k)
                simplified = self._sum(total, e.dtype)
            else:
                simplified = self._change(rebuild(e, [memo[k] for k in kids]))
            memo[e] = simplified
            self._memo.setdefault(simplified, simplified)
        return memo[root]

    def bind(self, var: Var, low: float, high: float) -> None:
        """Says that `var` is within low … high, from now on."""
        self.bounds[var] = (low, high)

    def range(self, e: Expr) -> Range:
        """Bounds (inclusive) on an integer expression's value, wrapping included."""
        result = self._ranges.get(e)
        if result is not None:
            return result
        for x in post_order(e):
            if x not in self._ranges:
                self._ranges[x] = self._range_of(x)
        return self._ranges[e]

    def linear(self, e: Expr) -> Linear:
        """The expression, simplified, as a sum: `{atom: coefficient}` and a constant."""
        return self._form(self(e))

    # -- ranges --------------------------------------------------------------------------------------------------------

    def _range_of(self, e: Expr) -> Range:
        if dtypes.is_float(e.dtype):
            return _WHOLE
        whole: Range = dtypes.int_range(e.dtype)
        low, high = self._exact(e)
        return (low, high) if _is_within(low, high, whole) else whole

    def _exact(self, e: Expr) -> Range:
        """The range as if integers were unbounded (of parts that themselves keep within their dtype)."""
        if isinstance(e, Const):
            return e.value, e.value
        if isinstance(e, Var):
            if e in self.bounds:
                return self.bounds[e]
            if isinstance(e, Axis):
                return e.begin, e.begin + e.extent - 1
            return _WHOLE
        if isinstance(e, Binary) and not dtypes.is_float(e.a.dtype):
            return self._binary(e)
        if isinstance(e, Select):
            a, b = self._ranges[e.then], self._ranges[e.other]
            return least(a[0], b[0]), greatest(a[1], b[1])
        if isinstance(e, Cast) and not dtypes.is_float(e.value.dtype):
            return self._ranges[e.value]
        return _WHOLE

    def _binary(self, e: Binary) -> Range:
        (a, b), (c, d) = self._ranges[e.a], self._ranges[e.b]
        op = e.op
        if op == "+":
            return a + c, b + d
        if op == "-":
            return a - d, b - c
        if op == "*" and holds(operator.ge, a, 0) and holds(operator.ge, c, 0):
            return _product(a, c), _product(b, d)
        if op == "*":
            ends = [_product(x, y) for x in (a, b) for y in (c, d)]
            return least(*ends), greatest(*ends)
        if op == "min":
            return least(a, c), _either(operator.le, b, d)
        if op == "max":
            return _either(operator.ge, a, c), greatest(b, d)
        is_natural = holds(operator.ge, a, 0)
        if c == d and isinstance(c, int) and holds(operator.gt, c, 0) and isinstance(a, int) and isinstance(b, int):
            try:
                limits = self._range_of_division(op, (a, b), c, is_natural)
            except Undecided:
                limits = None
            if limits is not None:
                return limits
        if op == "&" and holds(operator.ge, c, 0):
            return 0, _either(operator.le, b, d) if is_natural else d
        if op == "&" and is_natural:
            return 0, b
        if op == ">>" and c == d and isinstance(c, int) and 0 <= c < 64 and isinstance(a, int) and isinstance(b, int):
            return a >> c, b >> c
        if op == "floormod" and holds(operator.gt, c, 0):
            return 0, d - 1
        return (0, 1) if e.dtype == "bool" else _WHOLE

    @staticmethod
    def _range_of_division(op: str, dividend: tuple[int, int], c: int, is_natural: bool) -> Range | None:
        a, b = dividend
        if op == "floordiv" or (op == "truncdiv" and is_natural):
            return a // c, b // c
        if op == "floormod" or (op == "truncmod" and is_natural):
            return (a % c, b % c) if a // c == b // c else (0, c - 1)
        if op == "truncmod":
            return greatest(a, 1 - c), least(greatest(b, 0), c - 1)
        if op == "truncdiv":
            return -(-a // c) if a < 0 else a // c, b // c if b >= 0 else -(-b // c)
        return (0, _either(operator.le, b, c)) if op == "&" and is_natural else None

    def never_wraps(self, e: Expr) -> bool:
        """True if the exact value of this operation always fits its dtype."""
        self.range(e)
        whole = dtypes.int_range(e.dtype)
        low, high = self._exact(e)
        return _is_within(low, high, whole)

    # -- linear forms --------------------------------------------------------------------------------------------------

    def _form(self, e: Expr) -> Linear:
        """`e` as a sum; its operands, where they are sums, have been seen before."""
        result = self._linear.get(e)
        if result is not None:
            return result
        if isinstance(e, Const):
            result = {}, e.int_value
        elif isinstance(e, Binary) and e.op in ("+", "-", "*") and self._is_new(e):
            # Made when its parent was put together again: constants go outwards.
            changed = self._change_binary(e)
            result = self._form(changed) if changed is not e else ({e: 1}, 0)
        else:
            result = {e: 1}, 0
        self._linear[e] = result
        return result

    def _is_new(self, e: Binary) -> bool:
        """True for a node that has not been through `_change`."""
        return self._interned.get((e.op, e.dtype, id(e.a), id(e.b))) is not e

    @staticmethod
    def _combine(a: Linear, b: Linear, scale: int) -> Linear:
        terms = dict(a[0])
        for atom, k in b[0].items():
            total = terms.get(atom, 0) + k * scale
            if total:
                terms[atom] = total
            else:
                terms.pop(atom, None)
        return terms, a[1] + b[1] * scale

    def _merge_division(self, form: Linear) -> Linear:
        """c*k*(x floordiv c) + k*(x floormod c)  ⇒  k*x, also for the remainder of x by c*n."""
        mods: list[Expr] = [t for t in form[0] if t.__class__ is Binary and t.op == "floormod"]
        while mods:
            mod = mods.pop(0)
            k = form[0].get(mod)
            if k is None:
                continue
            if not isinstance(mod, Binary) or not isinstance(mod.b, Const):
                continue
            c = mod.b.int_value
            # Of x = y floordiv n the quotient is y floordiv (n*c).
            quotient = self._intern(self._change_binary(Binary("floordiv", mod.a, mod.b, mod.dtype)))
            for t, v in form[0].items():
                n, beyond = (1, 0) if t is quotient else self._remainder_of(t, quotient)
                reached = self._combine(self._form(mod.a), ({}, beyond * c), 1)
                if v != k * c or not n or not self._fits(reached, mod.dtype):
                    continue
                rest = {x: m for x, m in form[0].items() if x is not mod and x is not t}
                merged = mod.a
                if t is not quotient:
                    moved = self._sum(reached, mod.dtype)
                    several = self._intern(const(c * n, mod.dtype))
                    merged = self._intern(self._change_binary(Binary("floormod", moved, several, mod.dtype)))
                    mods.append(merged)
                form = self._combine((rest, form[1]), self._form(merged), k)
                break
        return form

    def _remainder_of(self, e: Expr, x: Expr) -> tuple[int, int]:
        """The constants n and d of `(x + d) floormod n`; 0 and 0 if the expression is another."""
        if isinstance(e, Binary) and e.op == "floormod" and isinstance(e.b, Const):
            terms, offset = self._form(e.a)
            if len(terms) == 1 and terms.get(x) == 1:
                return e.b.int_value, offset
        return 0, 0

    def _sum(self, form: Linear, dtype: str) -> Expr:
        """The expression of a linear form: terms in their order, the constant last."""
        form = self._merge_division(form)
        total: Expr | None = None
        terms = [
            (t, k if k.__class__ is int and _INT32[0] <= k <= _INT32[1] else _wrapped(k, dtype))
            for t, k in form[0].items()
        ]
        if len(terms) > 1:
            terms.sort(key=lambda item: item[1] < 0 if item[1].__class__ is int else holds(operator.lt, item[1], 0))
        for atom, k in terms:
            if not k:
                continue
            part = atom
            negative = k < 0 if k.__class__ is int else holds(operator.lt, k, 0)
            if (k != 1 and k != -1) or (negative and total is None):
                factor = -k if total is not None and negative else k
                part = self._intern(Binary("*", atom, self._intern(const(factor, dtype)), dtype))
                self._linear.setdefault(part, ({atom: factor}, 0))
            if total is None:
                total = part
            else:
                total = self._intern(Binary("-" if negative else "+", total, part, dtype))
        offset = _wrapped(form[1], dtype)
        if total is None:
            return self._intern(const(offset, dtype))
        if offset:
            total = self._intern(Binary("+", total, self._intern(const(offset, dtype)), dtype))
        self._linear[total] = form
        return total

    def _form_range(self, form: Linear) -> Range:
        low: float = form[1]
        high: float = form[1]
        for atom, k in form[0].items():
            a, b = self.range(atom)
            if holds(operator.lt, k, 0):
                a, b = b, a
            elif not holds(operator.ge, k, 0):
                a, b = least(a * k, b * k), greatest(a * k, b * k)
                k = 1
            low += a * k
            high += b * k
        return low, high

    def _fits(self, form: Linear, dtype: str) -> bool:
        low, high = self._form_range(form)
        whole = dtypes.int_range(dtype)
        return _is_within(low, high, whole)

    # -- rules ---------------------------------------------------------------------------------------------------------

    def _change(self, e: Expr) -> Expr:
        if isinstance(e, Binary):
            e = self._change_binary(e)
        elif isinstance(e, Select) and isinstance(e.cond, Binary):
            e = self._intern(rebuild(e, children(e)))
        return self._intern(e)

    def _change_binary(self, e: Binary) -> Expr:
        dtype = e.a.dtype
        if dtype not in ("int32", "int64"):
            return e
        op = e.op
        if op in ("+", "-"):
            return self._sum(self._combine(self._form(e.a), self._form(e.b), 1 if op == "+" else -1), dtype)
        if op == "*":
            factor, other = (e.b, e.a) if isinstance(e.b, Const) else (e.a, e.b)
            if isinstance(factor, Const):
                return self._sum(self._combine(({}, 0), self._form(other), factor.int_value), dtype)
            return e
        if op in ("floordiv", "floormod", "truncdiv", "truncmod"):
            try:
                return self._divide(e, dtype)
            except Undecided:
                return e
        if op in ("<", "<=", "==", "!="):
            return self._compare(e, dtype)
        if op in ("<<", ">>", "&"):
            return self._change_bits(e, dtype)
        if op in ("min", "max"):
            difference = self._combine(self._form(e.a), self._form(e.b), -1)
            if self._comparable(e, dtype):
                low, high = self._form_range(difference)
                if holds(operator.le, high, 0):
                    return e.a if op == "min" else e.b
                if holds(operator.ge, low, 0):
                    return e.b if op == "min" else e.a
        return e

    def _change_bits(self, e: Binary, dtype: str) -> Expr:
        """The operand of a shift by nothing and of a mask that keeps all bits; one shift for a shift to the left and back."""
        if not isinstance(e.b, Const):
            return e
        n = e.b.int_value
        if e.op == "&":
            low, high = self.range(e.a)
            is_mask = isinstance(n, int) and n >= 0 and n & (n + 1) == 0
            return e.a if is_mask and holds(operator.ge, low, 0) and holds(operator.le, high, n) else e
        if n == 0:
            return e.a
        a = e.a
        is_back = e.op == ">>" and isinstance(a, Binary) and a.op == "<<" and isinstance(a.b, Const)
        if not is_back or not isinstance(a, Binary) or not isinstance(a.b, Const):
            return e
        left = a.b.int_value
        low, high = self.range(a.a)
        if not 0 <= left <= n or not _is_within(low * (1 << left), high * (1 << left), dtypes.int_range(dtype)):
            return e
        return a.a if left == n else self._intern(Binary(">>", a.a, self._intern(const(n - left, dtype)), dtype))

    def _comparable(self, e: Binary, dtype: str) -> bool:
        return self._fits(self._form(e.a), dtype) and self._fits(self._form(e.b), dtype)

    def _compare(self, e: Binary, dtype: str) -> Expr:
        if not self._comparable(e, dtype):
            return e
        low, high = self._form_range(self._combine(self._form(e.a), self._form(e.b), -1))
        op = e.op
        known: bool | None = None
        if op == "<":
            known = True if holds(operator.lt, high, 0) else False if holds(operator.ge, low, 0) else None
        elif op == "<=":
            known = True if holds(operator.le, high, 0) else False if holds(operator.gt, low, 0) else None
        elif holds(operator.gt, low, 0) or holds(operator.lt, high, 0):
            known = op == "!="
        elif low == high == 0:
            known = op == "=="
        return self._coarser(e, dtype) if known is None else const(known, "bool")

    def _coarser(self, e: Binary, dtype: str) -> Expr:
        """16*i + j < 64  ⇒  i < 4, where 0 <= j < 16 (and so on for <=)."""
        if e.op not in ("<", "<="):
            return e
        terms, offset = self._combine(self._form(e.a), self._form(e.b), -1)
        if e.op == "<=":
            offset -= 1
        # terms + offset < 0
        sizes = sorted({-k if holds(operator.lt, k, 0) else k for k in terms.values()}, key=bound, reverse=True)
        for g in sizes:
            if g == 1 or not holds(operator.gt, g, 0) or all(k % g == 0 for k in terms.values()):
                continue
            rest = {t: k for t, k in terms.items() if k % g}
            low, high = self._form_range((rest, offset))
            if _is_infinite(low) or _is_infinite(high) or low // g != high // g:
                continue
            offset_in_steps = as_integer(low // g)
            # terms - rest is a multiple of g, so that rest + offset may be rounded down to one.
            whole = self._sum(({t: k // g for t, k in terms.items() if k % g == 0}, offset_in_steps), dtype)
            return self._intern(Binary("<", whole, self._intern(const(0, dtype)), "bool"))
        return e

    def _divide_coarsely(self, op: str, form: Linear, c: int, dtype: str) -> Expr | None:
        """(16*i + j) floordiv 64  ⇒  i floordiv 4, and floormod  ⇒  16*(i floormod 4) + j, where 0 <= j < 16."""
        for g in sorted({greatest_common_divisor(k, c) for k in form[0].values()}, key=bound, reverse=True):
            if g == 1 or not holds(operator.gt, g, 0) or not holds(operator.lt, g, c):
                continue
            fine = ({t: k for t, k in form[0].items() if k % g}, form[1] % g)
            if not fine[0] and not fine[1]:
                continue
            low, high = self._form_range(fine)
            if not (holds(operator.ge, low, 0) and holds(operator.lt, high, g)):
                continue
            coarse = self._sum(({t: k // g for t, k in form[0].items() if k % g == 0}, form[1] // g), dtype)
            divided = self._intern(self._change_binary(Binary(op, coarse, self._intern(const(c // g, dtype)), dtype)))
            if op == "floordiv":
                return divided
            return self._sum(self._combine(fine, self._form(divided), g), dtype)
        return None

    def _divide(self, e: Binary, dtype: str) -> Expr:
        if not isinstance(e.b, Const) or not holds(operator.gt, e.b.value, 0):
            return e
        op, c = e.op, e.b.int_value
        form = self._form(e.a)
        if not self._fits(form, dtype):
            return e
        if op in ("truncdiv", "truncmod"):
            if not holds(operator.ge, self._form_range(form)[0], 0):
                return e
            op = "floordiv" if op in QUOTIENTS else "floormod"
        whole = ({t: k // c for t, k in form[0].items() if k % c == 0}, form[1] // c)
        rest = ({t: k for t, k in form[0].items() if k % c}, form[1] % c)
        low, high = self._form_range(rest)
        if not _is_infinite(low) and not _is_infinite(high) and low // c == high // c:
            shift = as_integer(low // c)
            if op == "floordiv":
                return self._sum((whole[0], whole[1] + shift), dtype)
            return self._sum((rest[0], rest[1] - shift * c), dtype)
        if not whole[0] and not whole[1]:
            coarse = self._divide_coarsely(op, form, c, dtype)
            if coarse is not None:
                return coarse
            left = e.a
            if op == "floordiv" and isinstance(left, Binary) and left.op == "floordiv" and isinstance(left.b, Const):
                if holds(operator.gt, left.b.value, 0):
                    inner = self._intern(const(left.b.int_value * c, dtype))
                    return self._change_binary(Binary("floordiv", left.a, inner, dtype))
            if isinstance(left, Binary) and left.op == "floormod" and isinstance(left.b, Const):
                n = left.b.int_value
                if holds(operator.gt, n, 0) and n % c == 0:
                    inside = self._intern(self._change_binary(Binary(op, left.a, self._intern(e.b), dtype)))
                    if op == "floormod":
                        return inside
                    return self._change_binary(Binary("floormod", inside, self._intern(const(n // c, dtype)), dtype))
            common = greatest_common_divisor(c, form[1], *form[0].values()) if form[0] else 1
            if common > 1:
                small = self._sum(({t: k // common for t, k in form[0].items()}, form[1] // common), dtype)
                divided = self._change_binary(Binary(op, small, self._intern(const(c // common, dtype)), dtype))
                return divided if op == "floordiv" else self._change_binary(divided * common)  # type: ignore[arg-type]  # what is no constant, times a number, is a product
            return self._intern(Binary(op, left, e.b, dtype))
        part = self._sum(rest, dtype)
        coarse = self._divide_coarsely(op, rest, c, dtype)
        if coarse is not None:
            return coarse if op == "floormod" else self._sum(self._combine(whole, self._form(coarse), 1), dtype)
        if op == "floormod":
            return self._intern(Binary("floormod", part, e.b, dtype))
        inner_quotient = self._change_binary(Binary("floordiv", part, self._intern(e.b), dtype))
        return self._sum(self._combine(whole, self._form(self._intern(inner_quotient)), 1), dtype)


def _product(a: float, b: float) -> float:
    """The product of two limits; 0 for zero times infinity."""
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    return 0 if a == 0 or b == 0 else a * b


def _is_infinite(limit: float) -> bool:
    return isinstance(limit, float) and math.isinf(limit)


def _is_within(low: float, high: float, whole: Range) -> bool:
    """True if a dtype of that range holds these limits. Those of lengths without bounds are of indices, which are computed in 64 bits."""
    fits_below = (isinstance(low, int) and is_open(low)) or holds(operator.le, whole[0], low)
    return fits_below and ((isinstance(high, int) and is_open(high)) or holds(operator.le, high, whole[1]))


def _either(compare: Callable[[float, float], bool], a: float, b: float) -> float:
    """The closer one of two upper or of two lower limits; the first if the run decides, since each of them is a limit."""
    return b if holds(compare, b, a) else a


def _wrapped(k: int, dtype: str) -> int:
    """A coefficient as its dtype holds it."""
    return k if is_open(k) or _INT32[0] <= k <= _INT32[1] else const(k, dtype).int_value
