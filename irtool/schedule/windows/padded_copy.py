"""Reductions of a padded copy, opened to reductions of its source.

for y: pad[y] = 1 <= y && y < n + 1 ? x[y - 1] : 0
for y, k: acc += pad[y + k] * w[k]                       ⇒       for y, k: acc += (0 <= y + k - 1 … ? x[y + k - 1] : 0) * w[k]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...tir.expr import Const, Expr, Load, Select, Var, rewrite, substitute
from ...tir.forms import AnyForm, Map, Reduction, buffers_read
from ...tir.stmt import Scope
from ..core.affine import loads, simplifier


def without_padded_copy(forms: Sequence[AnyForm], at: int, plain: bool = False) -> Reduction | None:
    """A reduction, the stage of that number, that reads what the stage before it copies with padding, or as it is if `plain`. None
    where that one makes no such copy, or others read it."""
    copy, r = forms[at - 1], forms[at]
    if at == 0 or not isinstance(copy, Map) or not isinstance(r, Reduction) or len(copy.stores) != 1:
        return None
    if copy.stores[0].buffer in buffers_read(*forms[: at - 1], *forms[at + 1 :]):
        return None
    return inline_padding(r, copy, plain)


def inline_padding(r: Reduction, copy: Map, plain: bool = False) -> Reduction | None:
    """The reduction that reads what the padded copy is made from; None if the copy is no padding, and the reduction's stores
    read it too. `plain`: copies without padding are opened as well."""
    store = copy.stores[0]
    if len(copy.stores) != 1 or store.buffer.scope != Scope.GLOBAL:
        return None
    padding = isinstance(store.value, Select) and store.value.lazy and isinstance(store.value.other, Const)
    if not padding and not (plain and isinstance(store.value, Load)):
        return None
    simplify = simplifier(r.loops, r.inner)

    def opened(e: Expr) -> Expr:
        if not isinstance(e, Load) or e.source is not store.buffer:
            return e
        return substitute(store.value, {a: i for a, i in zip(store.indices, e.indices) if isinstance(a, Var)})

    update = simplify(rewrite(r.update, opened))
    left = loads(update, *(x for s in r.stores for x in (*s.indices, s.value)))
    return None if any(e.source is store.buffer for e in left) else replace(r, update=update)
