"""Carries changed layouts through a function, with as few transforms as possible.

Going forward, each rewritten call remembers the layout that its result had and the one it has now. A consumer that can
work in the new layout does; where layouts must meet, a `layout_transform` is put in, once for each value and layout.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from ...ir import Call, Expr, Function, Op, TensorType, Tuple, TupleGetItem, TupleType, Type, rebuild, rewrite
from ...ir.expr import children
from ...ir.structural import structural_equal
from ...ops.base import call
from ...ops.layout import Layout, convertible
from ...trampoline import trampoline
from ..effects.purity import Effects
from .inference import Layouts, LayoutSite, MaybeLayout, find_rule

Change = Callable[[Call, Call], "Call | None"]
"""`change(old, new)`: the call in the layouts that it should have, or None to leave it; `new` has new arguments."""


class Changed(Expr):
    """A value whose layout was changed: stands for `value` transformed from `new` back to `old`."""

    __slots__ = ("checked_type", "new", "old", "span", "value")

    def __init__(self, value: Expr, old: MaybeLayout, new: MaybeLayout) -> None:
        self.value = value
        self.old = old
        self.new = new
        self.checked_type = None
        self.span = value.span


def change_layouts(function: Function, change: Change) -> Function:
    """`function` with layouts changed as `change` says; results have the layouts that they had."""
    return _Rewriter(change).run(function)


class _Rewriter:
    def __init__(self, change: Change) -> None:
        self.change = change
        self.transforms: dict[tuple[Expr, str, str], Expr] = {}
        self.opened: dict[Expr, Expr] = {}
        """Tuples with everything changed in them as it was."""
        self.effects = Effects()

    def run(self, function: Function) -> Function:
        rewritten = rewrite(function, self.leave)
        # Calls are written anew wherever layouts are known; where none was changed, the program may be the same.
        same = not self.transforms and structural_equal(rewritten, function)
        return function if same else rewritten

    def leave(self, old: Expr, new: Expr) -> Expr:
        if isinstance(old, Call) and isinstance(new, Call):
            converted = self.call(old, new) if isinstance(old.op, Op) else None
            return self.realized(new) if converted is None else converted
        if isinstance(old, TupleGetItem) and isinstance(new, TupleGetItem):
            alone = not isinstance(old.tuple, Tuple) or self.effects.only_field(old.tuple, old.index)
            return new.tuple.fields[new.index] if isinstance(new.tuple, Tuple) and alone else self.realized(new)
        return new if isinstance(new, Tuple) else self.realized(new)

    def realized(self, e: Expr) -> Expr:
        """`e` with every changed child as it was."""
        return rebuild(e, [trampoline(self.realize(k)) for k in children(e)])

    def realize(self, e: Expr) -> Generator[Any, Any, Expr]:
        if isinstance(e, Changed):
            return self.transform(e.value, e.new, e.old)
        if isinstance(e, Tuple) and any(isinstance(f, Changed | Tuple) for f in e.fields):
            if e not in self.opened:
                fields = []
                for f in e.fields:
                    fields.append((yield self.realize(f)))
                same = all(a is b for a, b in zip(fields, e.fields, strict=True))
                self.opened[e] = e if same else Tuple(tuple(fields), e.span)
            return self.opened[e]
        return e

    def transform(self, e: Expr, source: MaybeLayout, target: MaybeLayout) -> Expr:
        """`e` in another layout; axes that it lacks are added in front first."""
        if source == target or source is None or target is None:
            return e
        key = (e, source.name, target.name)
        if key not in self.transforms:
            self.transforms[key] = self.transformed(e, source, target)
        return self.transforms[key]

    def transformed(self, e: Expr, source: Layout, target: Layout) -> Expr:
        if len(source.primals) < len(target.primals):
            if isinstance(e.checked_type, TensorType) and all(d == 1 for d in e.checked_type.shape):
                return e  # a single element broadcasts in any layout
            e = call("expand_dims", e, axis=0, num_newaxis=len(target.primals) - len(source.primals))
            source = source.expand_primal(target)
            if source == target:
                return e
        if not convertible(source, target):
            from ...diagnostics import IrError

            raise IrError(f"layout {source} cannot be turned into {target}", e.span)
        return call("layout_transform", e, src_layout=source.name, dst_layout=target.name)

    def call(self, old: Call, new: Call) -> Expr | None:
        """The rewritten call; None if the operator's layouts are not known."""
        values, produced = _flatten(new.args)
        rule = find_rule(old.op_class)
        if rule is None:
            return None
        types = tuple(a.known_type for a in old.args)
        before = tuple(p.old for p in produced)
        first = rule(LayoutSite(old.attrs, before, None, types))
        if not first.known or len(first.inputs) != len(before) or not _have_ranks(first.outputs, old.known_type):
            return None
        arrived = tuple(
            now if (now := p.new) is not None else cur for p, cur in zip(produced, first.inputs, strict=True)
        )
        assumed = tuple(b if b is not None else cur for b, cur in zip(before, first.inputs, strict=True))
        plain = Call(new.op, _unflatten(new.args, values), first.attrs, (), new.span)
        changed = self.change(old, plain) or plain
        rule = find_rule(changed.op_class)
        if rule is None:
            return None
        second = rule(LayoutSite(changed.attrs, assumed, arrived, types))
        if not second.known or len(second.outputs) != len(first.outputs):
            return None
        producers, _ = _flatten(changed.args)
        moved = [
            self.meet(v, p.old, c, p.new, n)
            for v, p, c, n in zip(producers, produced, first.inputs, second.inputs, strict=True)
        ]
        result = Call(changed.op, _unflatten(changed.args, moved), second.attrs, (), old.span)
        return _outputs(old, result, first, second)

    def meet(
        self, e: Expr, old_made: MaybeLayout, old_used: MaybeLayout, produced: MaybeLayout, used: MaybeLayout
    ) -> Expr:
        """Brings an argument into the layout of its use: the changes of producer and consumer may be one transform or two."""
        if old_used == old_made:
            return self.transform(e, produced, used)
        if old_made is not None:
            e = self.transform(e, produced, old_made)
        return self.transform(e, old_used, used)


def _flatten(arguments: tuple[Expr, ...]) -> tuple[list[Expr], list[Changed]]:
    """The arguments with tuples of one level opened: their plain values, and their known layouts."""
    values, produced = [], []
    for a in arguments:
        for e in a.fields if isinstance(a, Tuple) else (a,):
            p = e if isinstance(e, Changed) else Changed(e, None, None)
            values.append(p.value)
            produced.append(p)
    return values, produced


def _unflatten(arguments: tuple[Expr, ...], values: list[Expr]) -> tuple[Expr, ...]:
    rest = iter(values)
    exprs: list[Expr] = []
    for a in arguments:
        if isinstance(a, Tuple):
            fields = tuple(next(rest) for _ in a.fields)
            same = all(x is y for x, y in zip(fields, a.fields, strict=True))
            exprs.append(a if same else Tuple(fields, a.span))
        else:
            exprs.append(next(rest))
    return tuple(exprs)


def _have_ranks(layouts: Sequence[MaybeLayout], result: Type) -> bool:
    """True if layouts have as many axes as the tensors: those of a dense layer have two, its results may have more."""
    fields = result.fields if isinstance(result, TupleType) else (result,)
    ranks = [len(t.shape) if isinstance(t, TensorType) else None for t in fields]
    return all(x is None or r is None or len(x) == r for x, r in zip(layouts, ranks))


def _outputs(old: Call, result: Call, first: Layouts, second: Layouts) -> Expr:
    if isinstance(old.checked_type, TupleType):
        fields = [
            Changed(TupleGetItem(result, i, result.span), was, now)
            for i, (was, now) in enumerate(zip(first.outputs, second.outputs, strict=True))
        ]
        return Tuple(tuple(fields))
    return Changed(result, first.outputs[0], second.outputs[0])
