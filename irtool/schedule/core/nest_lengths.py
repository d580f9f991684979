"""Lengths that a step of a loop decides: the last tile of an open extent has fewer rows than the others.

::

    for tile in length / 32: f(32 rows)                  for tile in (length + 31) / 32:
    g(length % 32 rows)                          ⇒         rows = min(32, length - tile * 32)
                                                           f(rows)

One nest serves full tiles and the last one: there is no second copy of the code. While stages are scheduled, the length is a symbol, like
one that the run decides; in the nest it becomes a variable.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable

from ...symbolic_int import Atom, Minimum, Quotient, Symbol, SymbolicInt, bound, extent_of, symbols_of
from ...tir.buffers import replace_buffers
from ...tir.expr import Const, Expr, Var, const, less, minimum, rewrite
from ...tir.stmt import PARALLEL, Allocate, For, If, Let, Stmt, pre_order, rewrite_stmt

Bind = Callable[[Stmt], Stmt]
"""Inserts the definition of a length around the statements that compute with it."""


class NestLengths:
    """The lengths of a nest, and their variables."""

    def __init__(self) -> None:
        self._variables: dict[Symbol, Var] = {}

    def add(self, name: str, most: int, left: Expr) -> tuple[int, Bind]:
        """A length, the minimum of `most` and `left`, which is at least 1, and its definition."""
        v = Var(name)
        # No symbol of a module has a space in its name.
        symbol = Symbol(f"{name} {len(self._variables)}", 1, most, is_mostly_high=True)
        self._variables[symbol] = v
        return extent_of(symbol), lambda body: Let(v, minimum(const(most), left), body)

    def settled(self, body: Stmt) -> Stmt:
        """The nest with variables in place of the symbols.

        Threads share loops whose number of steps is the same in all of them: such a loop has all steps of a full tile, with a condition.
        Buffers have room for a full tile.
        """
        if not self._variables:
            return body
        memo: dict[Expr, Expr] = {}

        def change(s: Stmt) -> Stmt:
            if isinstance(s, For) and s.kind == PARALLEL and isinstance(s.extent, Const) and self._has(s.steps):
                most = bound(s.steps)
                inside = If(less(s.var, self._expression(s.steps)), s.body) if most != 1 else s.body
                return For(s.var, most, inside, PARALLEL, s.unroll)
            return s

        allocated = [s.buffer for s in pre_order(body) if isinstance(s, Allocate)]
        full = {
            b: b.replace(shape=[bound(n) if self._has(n) else n for n in b.shape])
            for b in allocated
            if any(map(self._has, b.shape))
        }
        body = rewrite_stmt(replace_buffers(body, full), change)
        return rewrite_stmt(body, lambda s: s, lambda e: rewrite(e, self._settled, memo))

    def _settled(self, e: Expr) -> Expr:
        if isinstance(e, Const) and isinstance(e.value, SymbolicInt) and self._has(e.value):
            return self._expression(e.value)
        return e

    def _has(self, value: int) -> bool:
        return not self._variables.keys().isdisjoint(symbols_of([value]))

    def _expression(self, value: int) -> Expr:
        if not isinstance(value, SymbolicInt) or not self._has(value):
            return const(value)
        for atoms, factor in value.terms.items():
            if len(atoms) == 1 and isinstance(atoms[0], Quotient):
                remainder = self._with_remainder(value, atoms[0], factor)
                if remainder is not None:
                    return remainder
        terms = (
            functools.reduce(operator.mul, map(self._atom, atoms), const(factor))
            for atoms, factor in value.terms.items()
        )
        return functools.reduce(operator.add, terms)

    def _with_remainder(self, value: SymbolicInt, q: Quotient, factor: int) -> Expr | None:
        """`k * (a % d) + …` for a formula with `k * a - k * d * (a // d)`; None for others. Remainders are known not to be negative."""
        times, rest = divmod(-factor, q.divisor)
        left = value - times * (q.dividend % q.divisor)
        if rest != 0 or times < 1 or (isinstance(left, SymbolicInt) and len(left.terms) >= len(value.terms)):
            return None
        return times * (self._expression(q.dividend) % self._expression(q.divisor)) + self._expression(left)

    def _atom(self, atom: Atom) -> Expr:
        if isinstance(atom, Symbol):
            return self._variables[atom] if atom in self._variables else const(extent_of(atom) // atom.step)
        if isinstance(atom, Minimum):
            return minimum(self._expression(atom.first), self._expression(atom.second))
        return self._expression(atom.dividend) // self._expression(atom.divisor)
