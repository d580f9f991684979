"""Convolutions of a padded copy, rewritten as convolutions of the unpadded tensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ....tir.expr import Binary, Const, Expr, Load, Select, Var, substitute
from ....tir.forms import AnyForm, Map, buffers_read
from ....tir.simplify import Simplifier
from ....tir.stmt import Buffer, Scope
from ...core.affine import depends, loads
from ...windows.divisors import LONGEST
from .axes import Elements
from .convolution import Convolution


def without_padded_copy(c: Convolution, forms: Sequence[AnyForm], at: int) -> Convolution:
    """The convolution of what a padded copy before it is made of, if nothing else reads that; itself otherwise."""
    copy = forms[at - 1] if at else None
    b = c.data.source
    if not isinstance(copy, Map) or len(copy.stores) != 1 or copy.stores[0].buffer is not b or b.scope != Scope.GLOBAL:
        return c
    if sum(b in buffers_read(f) for f in forms) != 1 or any(
        e.source is b for s in c.form.stores for e in loads(s.value)
    ):
        return c
    store = copy.stores[0]
    value = store.value
    conditions: list[Expr] = []
    if isinstance(value, Select):
        if not isinstance(value.other, Const) or value.other.value or not value.lazy:
            return c
        conditions, value = _conjuncts(value.cond), value.then
    if not isinstance(value, Load) or not isinstance(value.source, Buffer) or value.source.dtype != b.dtype:
        return c
    place: dict[Var, Expr] = {}
    for i, own in zip(store.indices, c.data.indices):
        if isinstance(i, Var):
            place[i] = own
        elif not isinstance(i, Const) or not isinstance(own, Const):
            return c
    return _of_copied(c, value, conditions, place) or c


def _of_copied(c: Convolution, value: Load, conditions: list[Expr], place: dict[Var, Expr]) -> Convolution | None:
    """The convolution of what is copied, under conditions, to a place; None where padding is not all that the copy adds."""
    opened: dict[Expr, Elements] = {}
    for own, elements in c.elements.items():
        (v,) = [v for v, x in place.items() if x is own]
        found = _unpadded(elements, v, value, [e for e in conditions if depends(e, v)])
        if found is None:
            return None
        opened[own] = found
        conditions = [e for e in conditions if not depends(e, v)]
    if conditions:
        return None
    simplify = Simplifier({})
    indices = []
    for i in value.indices:
        inside = [own for v, own in place.items() if own in opened and depends(i, v)]
        indices.append(inside[0] if inside else simplify(substitute(i, place)))
    return replace(c.with_elements(opened), copies=1, data=Load(value.source, tuple(indices)))


def _unpadded(elements: Elements, v: Var, value: Load, conditions: Sequence[Expr]) -> Elements | None:
    """The elements of what is copied, of which `v + c` is at `v` in the copy; None where that, or what exists, is not so."""
    simplify = Simplifier({})
    moving = [n for n, i in enumerate(value.indices) if depends(i, v)]
    if len(moving) != 1:
        return None
    terms, offset = simplify.linear(value.indices[moving[0]])
    if len(terms) != 1 or set(terms.values()) != {1}:
        return None
    first, last = elements.first, elements.last
    for e in conditions:
        limit = _limit(e, v)
        if limit is None:
            return None
        first, last = max(first, limit[0]), min(last, limit[1])
    moved = int(offset)
    return Elements(elements.shift + moved, first + moved, last + moved)


def _limit(e: Expr, v: Var) -> tuple[int, int] | None:
    """The values of `v` for which a comparison with a number holds, first and last."""
    if not isinstance(e, Binary) or e.op not in ("<", "<="):
        return None
    strict = int(e.op == "<")
    simplify = Simplifier({})
    terms, offset = simplify.linear(e.b - e.a)
    if len(terms) != 1:
        return None
    # v * k + offset >= strict
    k = terms.get(v)
    if k == 1:
        return strict - int(offset), LONGEST
    return (-LONGEST, int(offset) - strict) if k == -1 else None


def _conjuncts(e: Expr) -> list[Expr]:
    exprs: list[Expr] = []
    stack = [e]
    while stack:
        x = stack.pop()
        if isinstance(x, Binary) and x.op == "and":
            stack += [x.b, x.a]
        else:
            exprs.append(x)
    return exprs
