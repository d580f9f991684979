"""Strides of reads and stores along loops, and the reads of a sum."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ...symbolic_int.modes import mode
from ...tir.expr import Binary, Expr, Load, Var, post_order
from ...tir.simplify import Simplifier
from ...tir.stmt import Buffer
from ...tir.tables import looked_up
from .forms import Loop, Reduction


def coefficients(simplify: Simplifier, index: Expr, variables: Sequence[Var]) -> list[int | None]:
    """The stride of `index` along each variable; None for a variable along which the index is not affine."""
    terms, _ = simplify.linear(index)
    inside: set[Expr] = set()
    for atom in terms:
        if not isinstance(atom, Var):
            inside.update(post_order(atom))
    return [None if v in inside else terms.get(v, 0) for v in variables]


def stride(simplify: Simplifier, index: Expr, variable: Var) -> int | None:
    """The stride of `index` along the variable; None if the index is not affine in it."""
    return coefficients(simplify, index, [variable])[0]


def loads(*roots: Expr) -> list[Load]:
    """The reads of buffers in these expressions, without reads of lookup tables, whose index is no affine function of loops."""
    return [
        e for e in post_order(*roots) if isinstance(e, Load) and isinstance(e.source, Buffer) and looked_up(e) is None
    ]


def operands(r: Reduction) -> list[Load]:
    """The reads of one step of the reduction, without reads of the accumulator."""
    return [e for e in loads(r.update) if e.source is not r.acc]


def epilogue_operands(r: Reduction) -> list[Load]:
    """The reads in the reduction's stores, without reads of the accumulator."""
    return [e for s in r.stores for e in loads(s.value) if e.source is not r.acc]


def offsets(r: Reduction) -> list[Expr]:
    """The offsets of the operands of a step, in elements from the beginning of their buffers."""
    return [e.source.offset(e.indices) for e in operands(r)]


def reads(e: Expr, b: Buffer) -> bool:
    """True if `e` reads an element of the buffer."""
    return any(isinstance(x, Load) and x.source is b for x in post_order(e))


def summand(r: Reduction) -> Expr | None:
    """The expression that each step adds to the sum; None if the update is no addition."""
    e = r.update
    added = isinstance(e, Binary) and e.op == "+" and isinstance(e.a, Load) and e.a.source is r.acc
    return e.b if isinstance(e, Binary) and added else None


def factors(r: Reduction) -> tuple[Expr, Expr] | None:
    """The two operands whose product each step adds to the sum; None for other updates."""
    e = summand(r)
    return (e.a, e.b) if isinstance(e, Binary) and e.op == "*" else None


def product_factors(e: Expr) -> list[Expr]:
    """The factors of a product of any number of them, in order; the expression itself if it is no product."""
    result: list[Expr] = []
    stack = [e]
    while stack:
        x = stack.pop()
        if isinstance(x, Binary) and x.op == "*":
            stack += [x.b, x.a]
        else:
            result.append(x)
    return result


def depends(e: Expr, variable: Var) -> bool:
    """True if the variable occurs in `e`."""
    return any(x is variable for x in post_order(e))


def moves(e: Load, variable: Var) -> bool:
    """True if the index of the read depends on the variable."""
    return any(depends(i, variable) for i in e.indices)


def simplifier(*groups: Sequence[Loop]) -> Simplifier:
    """A simplifier that knows the ranges of these loops' variables: the same one for the same loops, whose answers it keeps."""
    return _simplifier(tuple((v, n) for g in groups for v, n in g), mode())


@lru_cache(maxsize=64)
def _simplifier(loops: tuple[Loop, ...], mode: int) -> Simplifier:
    """The simplifier of loops for a mode: answers differ between modes."""
    return Simplifier({v: (0, n - 1) for v, n in loops})
