"""Rewriting from operands to users, in which a value may stand for an expression that is not decided yet.

After src/relay/transforms/forward_rewrite.cc of TVM 0.10.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...ir import Call, Expr, Function, Op, Tuple, TupleGetItem, rewrite
from ...ir.walk import use_counts
from ..effects.purity import Effects


class Undecided:
    """A value for which `realize` gives an expression, the same each time, where a user has no rule."""

    def __init__(self) -> None:
        self._realized: Expr | None = None

    def realize(self) -> Expr:
        """The expression."""
        if self._realized is None:
            self._realized = self.make()
        return self._realized

    def make(self) -> Expr:
        """The expression, made anew."""
        raise NotImplementedError


Value = Expr | Undecided
Rule = Callable[[Call, Sequence[Value]], Value | None]
"""`rule(call, operands)`: the replacement of a call of the original; None: the call over realized operands.

An operand that is a tuple is a `Tuple` over realized fields: `Forward.fields` has their values.
"""


class Forward:
    """One run over a function. `shared` settles an undecided value with several uses."""

    def __init__(self, rules: Mapping[str, Rule], shared: Callable[[Undecided], Undecided] | None = None) -> None:
        self.rules = rules
        self.shared = shared
        self.effects = Effects()
        self.memo: dict[Expr, Expr] = {}
        self.pending: dict[Expr, Undecided] = {}

    def run(self, function: Function) -> Function:
        """The function rewritten."""
        self.counts = use_counts(function)
        return rewrite(function, self._leave, memo=self.memo)

    def value(self, old: Expr) -> Value:
        """The replacement of an expression of the original."""
        return self.pending.get(old) or self.memo[old]

    def fields(self, old: Tuple) -> list[Value]:
        """The same for the fields of a tuple."""
        return [self.value(f) for f in old.fields]

    def _leave(self, old: Expr, new: Expr) -> Expr:
        if isinstance(old, TupleGetItem) and isinstance(old.tuple, Tuple):
            if not self.effects.only_field(old.tuple, old.index):
                return new
            return self._keep(old, self.value(old.tuple.fields[old.index]))
        if not isinstance(old, Call) or not isinstance(old.op, Op):
            return new
        rule = self.rules.get(old.op.name)
        converted = rule(old, [self.value(a) for a in old.args]) if rule is not None else None
        return new if converted is None else self._keep(old, converted)

    def _keep(self, old: Expr, converted: Value) -> Expr:
        if not isinstance(converted, Undecided):
            return converted
        if self.shared is not None and self.counts[old] > 1:
            converted = self.shared(converted)
        self.pending[old] = converted
        return converted.realize()


def forwarded(old: Call, args: Sequence[Expr]) -> Call:
    """The call over other operands."""
    return Call(old.op, tuple(args), old.attrs, old.type_args, old.span)


def realized(v: Value) -> Expr:
    """The expression of a value."""
    return v.realize() if isinstance(v, Undecided) else v


def is_constant(v: Value) -> bool:
    """True for a constant, and for a tuple of constants."""
    from ...ir import Constant

    if isinstance(v, Tuple):
        return all(is_constant(f) for f in v.fields)
    return isinstance(v, Constant)
