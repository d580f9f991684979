"""Group normalisations, channel by channel.

    for g: for k in 4, y, x: acc += x[g * 4 + k, y, x]     for c:  for y, x: acc += x[c, y, x]; sums[c] = acc
           mean[g] = acc / n                            ⇒  for g:  for k in 4: acc += sums[g * 4 + k]; mean[g] = acc / n
    for c, y, x: z[c, y, x] = x[c, y, x] - mean[c // 4]    for c: each[c] = mean[c // 4]
                                                        ⇒  for c, y, x: z[c, y, x] = x[c, y, x] - each[c]

Channels are in blocks of a vector each, and a group is a part of a block: without the split, neither the sums of groups nor their
readers would have full vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from ...tir.expr import QUOTIENTS, Binary, Const, Expr, Load, Var, post_order, substitute, variables
from ...tir.forms import AnyForm, Loop, LoopForm, Map, Reduction, rewrite_loads
from ...tir.kernel import Kernel
from ...tir.stmt import Buffer, Scope, Store
from ..core.affine import loads, simplifier, summand
from ..cost.machine import FEWEST_RESULTS
from .canonical_views import IMAGE_AXES

_CHANNELS = 1
"""The axis of channels of an image; rows and columns follow it."""


def split_groups(k: Kernel) -> Kernel:
    """The kernel with sums over groups of channels in two stages, and with a stage that copies the results of groups to channels.

    The kernel itself if it has no such sums and no such reads.
    """
    stages: list[AnyForm] = []
    added: list[Buffer] = []
    for form in k.stages:
        halves = _sums_of_channels(form) if isinstance(form, Reduction) else None
        if halves is not None:
            added.append(halves[0].stores[0].buffer)
        for f in halves if halves is not None else (form,):
            changed_stages = _read_of_groups(f) if isinstance(f, Map | Reduction) else [f]
            added += [s.buffer for m in changed_stages[:-1] if isinstance(m, Map) for s in m.stores]
            stages += changed_stages
    return k.with_stages(stages, temporaries=[*k.temporaries, *added]) if added else k


def _sums_of_channels(r: Reduction) -> tuple[Reduction, Reduction] | None:
    """A sum over groups as the sums of channels, and the sums of these; None for other reductions."""
    added = summand(r)
    if added is None or r.guards or not isinstance(r.init, Const) or r.init.value:
        return None
    groups = _groups(r, added)
    if groups is None:
        return None
    group, member, extent = groups
    rest = tuple(x for x in r.inner if x[0] is not member)
    if prod(n for _, n in rest) < FEWEST_RESULTS:
        return None
    count = extent * (dict(r.loops)[group] if group is not None else 1)
    channel = Var("c")
    loops: list[Loop] = [(channel, count) if v is group else (v, n) for v, n in r.loops]
    loops += [(channel, count)] if group is None else []
    simplify = simplifier(loops, rest)
    values: dict[Expr, Expr] = {member: channel % extent, **({group: channel // extent} if group is not None else {})}
    acc = r.acc.replace()
    sums = Buffer("sums", [n for _, n in loops], r.acc.dtype, Scope.GLOBAL)
    each = acc.element() + simplify(substitute(added, values))
    place: dict[Expr, Expr] = {channel: group * extent + member if group is not None else member}
    stored = Store(sums, tuple(v for v, _ in loops), acc.element())
    of_channels = Reduction(tuple(loops), acc, r.init, rest, each, (stored,), windows=r.windows)
    read = Load(sums, tuple(substitute(v, place) for v, _ in loops))
    return of_channels, replace(r, inner=((member, extent),), update=r.acc.element() + read)


def _groups(r: Reduction, added: Expr) -> tuple[Var | None, Var, int] | None:
    """The axis of groups (None for a single group), that of the channels of a group, and the number of these."""
    simplify = simplifier(r.loops, r.inner)
    for e in loads(added):
        if len(e.source.shape) < IMAGE_AXES or not all(_is_one_of(i, r.inner) for i in e.indices[_CHANNELS + 1 :]):
            continue
        terms, offset = simplify.linear(e.indices[_CHANNELS])
        members = [(v, n) for v, n in r.inner if v in terms]
        around = [(v, n) for v, n in r.loops if v in terms]
        if offset or len(members) != 1 or len(around) > 1 or len(terms) != 1 + len(around):
            continue
        (member, extent), (group, count) = members[0], around[0] if around else (None, 1)
        if terms[member] != 1 or (group is not None and terms[group] != extent):
            continue
        if extent * count == e.source.shape[_CHANNELS] and all(_is_same(x, e, member) for x in loads(added)):
            return group, member, extent
    return None


def _is_one_of(i: Expr, loops: Sequence[Loop]) -> bool:
    return any(i is v for v, _ in loops)


def _is_same(x: Load, e: Load, member: Var) -> bool:
    """True if the indices of an element are those of `e`, or do not depend on the channels of a group."""
    same = len(x.indices) == len(e.indices) and all(a is b for a, b in zip(x.indices, e.indices))
    return same or not any(v is member for v in variables(*x.indices))


def _read_of_groups(form: Map | Reduction) -> list[AnyForm]:
    """Stages that copy, for each step of a loop, the value of its group; then the form that reads the copies."""
    extents = dict(form.loops)
    work = prod(n for _, n in (*form.loops, *form.inner))
    read: dict[tuple[object, ...], Load] = {}
    copies: list[AnyForm] = []

    def by_channel(e: Load) -> Expr:
        v = _only_variable(e)
        extent = extents.get(v, 0) if v is not None else 0
        if v is None or not extent or work < FEWEST_RESULTS * extent or not isinstance(e.source, Buffer):
            return e
        key = (e.source, *e.indices)
        if key not in read:
            own = Var(v.name)
            each = Buffer("each", (extent,), e.source.dtype, Scope.GLOBAL)
            indices = tuple(substitute(i, {v: own}) for i in e.indices)
            copies.append(Map(((own, extent),), (Store(each, (own,), Load(e.source, indices)),)))
            read[key] = Load(each, (v,))
        return read[key]

    changed: LoopForm = rewrite_loads(form, by_channel)
    return [*copies, changed] if copies else [form]


def _only_variable(e: Load) -> Var | None:
    """The only variable in an element's indices, if these have a quotient; otherwise None."""
    nodes = set(post_order(*e.indices))
    if not any(isinstance(x, Binary) and x.op in QUOTIENTS for x in nodes) or any(isinstance(x, Load) for x in nodes):
        return None
    loop_vars = [x for x in nodes if isinstance(x, Var)]
    return loop_vars[0] if len(loop_vars) == 1 else None
