"""Strides of reads and stores along loops, and the reads of a sum."""

from __future__ import annotations

from collections.abc import Sequence

from ...tir.expr import Binary, Expr, Load, Var, post_order
from ...tir.simplify import Simplifier
from ...tir.stmt import Buffer
from ...tir.tables import looked_up
from .forms import Loop, Reduction


def coefficients(simplify: Simplifier, index: Expr, variables: Sequence[Var]) -> list[int | None]:
    """By how much `index` grows with each variable; None if it does not grow evenly."""
    terms, _ = simplify.linear(index)
    inside: set[Expr] = set()
    for atom in terms:
        if not isinstance(atom, Var):
            inside.update(post_order(atom))
    return [None if v in inside else terms.get(v, 0) for v in variables]


def stride(simplify: Simplifier, index: Expr, variable: Var) -> int | None:
    """By how much `index` grows with the variable; None if it does not grow evenly."""
    return coefficients(simplify, index, [variable])[0]


def loads(*roots: Expr) -> list[Load]:
    """Reads of buffers below the roots. Those of tables are left out: they move with no loop."""
    return [
        e for e in post_order(*roots) if isinstance(e, Load) and isinstance(e.source, Buffer) and looked_up(e) is None
    ]


def operands(r: Reduction) -> list[Load]:
    """The reads of a step of the reduction, except of the accumulator."""
    return [e for e in loads(r.update) if e.source is not r.acc]


def epilogue_operands(r: Reduction) -> list[Load]:
    """The reads of the reduction's stores, except of the accumulator."""
    return [e for s in r.stores for e in loads(s.value) if e.source is not r.acc]


def offsets(r: Reduction) -> list[Expr]:
    """The offsets of the operands of a step, in elements from the beginning of their buffers."""
    return [e.source.offset(e.indices) for e in operands(r)]


def reads(e: Expr, b: Buffer) -> bool:
    """True if an element of the buffer is read in `e`."""
    return any(isinstance(x, Load) and x.source is b for x in post_order(e))


def summand(r: Reduction) -> Expr | None:
    """What each step adds to the sum; None if it does something else."""
    e = r.update
    added = isinstance(e, Binary) and e.op == "+" and isinstance(e.a, Load) and e.a.source is r.acc
    return e.b if isinstance(e, Binary) and added else None


def factors(r: Reduction) -> tuple[Expr, Expr] | None:
    """The two operands whose product each step adds to the sum; None if it does something else."""
    e = summand(r)
    return (e.a, e.b) if isinstance(e, Binary) and e.op == "*" else None


def depends(e: Expr, variable: Var) -> bool:
    """True if the variable occurs in `e`."""
    return any(x is variable for x in post_order(e))


def moves(e: Load, variable: Var) -> bool:
    """True if the variable decides which element is read."""
    return any(depends(i, variable) for i in e.indices)


def simplifier(*groups: Sequence[Loop]) -> Simplifier:
    """A simplifier that knows the ranges of these loops' variables."""
    return Simplifier({v: (0, n - 1) for g in groups for v, n in g})
