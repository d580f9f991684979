"""Facts about a finished loop nest that its callers use: is it a mere copy, and which outputs may take an input's place."""

from __future__ import annotations

from .expr import Expr, Load, post_order
from .simplify import Simplifier
from .stmt import Buffer, For, PrimFunc, Store, expressions, pre_order


def loop_bounds(f: PrimFunc) -> dict[Expr, tuple[float, float]]:
    """The ranges (inclusive) of the variables of loops with constant extents."""
    return {
        s.var: (0, int(s.extent.value) - 1)
        for s in pre_order(f.body)
        if isinstance(s, For) and hasattr(s.extent, "value")
    }


def copied_input(f: PrimFunc) -> int | None:
    """The number of the parameter that the function copies to its only output, element for element, if that is all."""
    if f.num_outputs != 1:
        return None
    s = f.body
    extents = 1
    while isinstance(s, For):
        extents *= getattr(s.extent, "value", 0)
        s = s.body
    if not isinstance(s, Store) or not isinstance(s.value, Load) or extents != s.buffer.size:
        return None
    source = s.value.source
    if source not in f.params or source.dtype != s.buffer.dtype or source.size != s.buffer.size:
        return None
    simplify = Simplifier(loop_bounds(f))
    read = simplify(source.offset(s.value.indices))
    written = simplify(s.buffer.offset(s.indices))
    return f.params.index(source) if read is written else None


def in_place_pairs(f: PrimFunc) -> list[tuple[int, int]]:
    """Pairs (input, output), counted separately, that may share memory: every element of the input is read only by the
    store of the same element of the output, or before it in the same iteration."""
    stores: dict[Buffer, list[Store]] = {}
    loads: dict[Buffer, list[Load]] = {}
    for s in pre_order(f.body):
        if isinstance(s, Store):
            stores.setdefault(s.buffer, []).append(s)
        for root in expressions(s):
            for e in post_order(root):
                if isinstance(e, Load) and isinstance(e.source, Buffer):
                    loads.setdefault(e.source, []).append(e)
    simplify = Simplifier(loop_bounds(f))
    pairs: list[tuple[int, int]] = []
    for o, out in enumerate(f.outputs):
        written = stores.get(out, [])
        if len(written) != 1 or loads.get(out):
            continue
        place = simplify(out.offset(written[0].indices))
        inside = set(post_order(written[0].value))
        for i, source in enumerate(f.inputs):
            if source.nbytes != out.nbytes or source.dtype != out.dtype or not loads.get(source):
                continue
            if all(e in inside and simplify(source.offset(e.indices)) is place for e in loads[source]):
                pairs.append((i, o))
    return pairs
