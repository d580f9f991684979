"""Readers of a padded copy as readers of its source.

for y: pad[y] = 1 <= y && y < n + 1 ? x[y - 1] : 0
for y, k: acc += pad[y + k] * w[k]                       ⇒       for y, k: acc += (0 <= y + k - 1 … ? x[y + k - 1] : 0) * w[k]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import overload

from ...tir.expr import Const, Expr, Load, Select, Var, rewrite, substitute
from ...tir.forms import AnyForm, Map, Reduction, buffers_read
from ...tir.stmt import Scope, Store
from ..core.affine import loads, simplifier


def without_padded_copy(forms: Sequence[AnyForm], number: int, plain: bool = False) -> Reduction | None:
    """The reduction at `number`, which reads the source of the padded copy that the stage before it makes.

    `plain`: a copy without padding is accepted as well. None if the stage before makes no such copy, or others read it.
    """
    copy, r = forms[number - 1], forms[number]
    if number == 0 or not isinstance(copy, Map) or not isinstance(r, Reduction) or len(copy.stores) != 1:
        return None
    if copy.stores[0].buffer in buffers_read(*forms[: number - 1], *forms[number + 1 :]):
        return None
    return inline_padding(r, copy, plain)


@overload
def inline_padding(form: Map, copy: Map, plain: bool = False) -> Map | None: ...


@overload
def inline_padding(form: Reduction, copy: Map, plain: bool = False) -> Reduction | None: ...


def inline_padding(form: Map | Reduction, copy: Map, plain: bool = False) -> Map | Reduction | None:
    """The stage that reads the source of the padded copy; None if the copy is no padding, or the stores of a reduction read it
    too.

    `plain`: copies without padding are accepted as well.
    """
    store = copy.stores[0]
    if not writes_whole(copy) or store.buffer.scope != Scope.GLOBAL:
        return None
    padding = isinstance(store.value, Select) and store.value.lazy and isinstance(store.value.other, Const)
    if not padding and not (plain and isinstance(store.value, Load)):
        return None
    if isinstance(form, Map):
        return compute_inline(form, store)
    update = simplifier(form.loops, form.inner)(with_values(form.update, store))
    left = loads(update, *(x for s in form.stores for x in (*s.indices, s.value)))
    return None if any(e.source is store.buffer for e in left) else replace(form, update=update)


def compute_inline(m: Map, source: Store) -> Map:
    """The map with the value of a store in place of reads of its buffer. TVM's `compute_inline`."""
    simplify = simplifier(m.loops)
    return replace(m, stores=tuple(s.rewritten(lambda e: simplify(with_values(e, source))) for s in m.stores))


def with_values(e: Expr, store: Store) -> Expr:
    """The expression, with the value of the store in place of reads of its buffer. The indices of the store are variables, or
    constants for axes of a single element."""

    def change(x: Expr) -> Expr:
        if not isinstance(x, Load) or x.source is not store.buffer:
            return x
        return substitute(store.value, {a: i for a, i in zip(store.indices, x.indices) if isinstance(a, Var)})

    return rewrite(e, change)


def writes_whole(m: Map) -> bool:
    """True if a stage stores each element of one buffer, in the order of its axes."""
    (store, *others) = m.stores
    loops = dict(m.loops)
    extents = [
        loops.pop(i, None) if isinstance(i, Var) else 1 for i in store.indices
    ]  # a constant is 0, for an axis of 1
    return not others and not loops and tuple(extents) == store.buffer.shape
