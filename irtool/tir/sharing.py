"""Facts about a finished loop nest that its callers use: is it a mere copy, and which outputs may take an input's place."""

from __future__ import annotations

from collections.abc import Sequence

from ..symbolic_int import as_integer, greatest, least
from . import dtypes
from .expr import Const, Expr, Load, post_order
from .simplify import Simplifier
from .stmt import Buffer, For, Let, Lowered, PrimFunc, Seq, Stmt, Store, expressions, last_step, pre_order


def loop_bounds(root: PrimFunc | Stmt) -> dict[Expr, tuple[float, float]]:
    """The ranges (inclusive) of the variables of loops with constant extents."""
    return {
        s.var: (0, s.last)
        for s in pre_order(root.body if isinstance(root, PrimFunc) else root)
        if isinstance(s, For) and isinstance(s.extent, Const)
    }


def index_bounds(root: PrimFunc | Stmt) -> dict[Expr, tuple[float, float]]:
    """The ranges (inclusive) of the variables of loops, and of named integers: those of constant extents, and those that follow from the
    loops around them, as the bounds of windows at a border do."""
    simplify = Simplifier()
    for s in pre_order(root.body if isinstance(root, PrimFunc) else root):
        if not isinstance(s, For | Let):
            continue
        value = s.extent if isinstance(s, For) else s.value
        if not dtypes.is_int(value.dtype) or (span := simplify.range(value)) == dtypes.int_range(value.dtype):
            continue
        low, high = (0, last_step(as_integer(span[1]))) if isinstance(s, For) else span
        before = simplify.bounds.get(s.var, (low, high))
        simplify.bind(s.var, least(low, before[0]), greatest(high, before[1]))
    return simplify.bounds


def copied_input(f: PrimFunc) -> int | None:
    """The number of the parameter that the function copies to its only output, element for element, if that is all."""
    if f.num_outputs != 1:
        return None
    simplify = Simplifier(loop_bounds(f))
    source = _copied_buffer(f.body, f.outputs[0], simplify)
    return f.params.index(source) if source in f.params else None


def _copied_buffer(s: Stmt, out: Buffer, simplify: Simplifier) -> Buffer | None:
    """The buffer that the statement copies to `out`, element for element, if that is all it does."""
    extents = 1
    while isinstance(s, For):
        extents *= getattr(s.extent, "value", 0)
        s = s.body
    if not isinstance(s, Store) or s.buffer is not out or not isinstance(s.value, Load) or extents != out.size:
        return None
    source = s.value.source
    if not isinstance(source, Buffer) or source.dtype != out.dtype or source.size != out.size:
        return None
    return source if simplify(source.offset(s.value.indices)) is simplify(out.offset(s.indices)) else None


def updated_pairs(f: PrimFunc, updates: Sequence[tuple[Buffer, Buffer]]) -> list[tuple[Buffer, Buffer]]:
    """The pairs (input, output) with an output of other elements than the input's: a copy of it comes first."""
    stores = [s for s in pre_order(f.body) if isinstance(s, Store)] if updates else []
    return [
        (a, b)
        for a, b in updates
        if any(s.buffer is b and not (isinstance(s.value, Load) and s.value.source is a) for s in stores)
    ]


def keeps_in_place(s: Stmt, updates: Sequence[tuple[Buffer, Buffer]]) -> tuple[Buffer, Buffer] | None:
    """The pair (input, output) of which all that the statement does is to copy elements of one to the same places of the
    other: nothing where both are the same memory. Indices are single offsets, simplified (see `selection.nests.flat`).
    """
    copied: set[tuple[Buffer, Buffer]] = set()
    for x in pre_order(s):
        if isinstance(x, For | Lowered):
            continue
        if not isinstance(x, Store | Seq):
            return None
        if isinstance(x, Store):
            value = x.value
            if not isinstance(value, Load) or len(value.indices) != 1 or value.indices[0] is not x.indices[0]:
                return None
            if (value.source, x.buffer) not in updates:
                return None
            copied.add((value.source, x.buffer))
    return copied.pop() if len(copied) == 1 else None


def in_place_pairs(f: PrimFunc) -> list[tuple[int, int]]:
    """Pairs (input, output), counted separately, that may share memory: every element of the input is read only by the
    store of the same element of the output, or before it in the same iteration; or the input is copied to the output whole
    before anything else, and not read again."""
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
    updates: list[tuple[int, int]] = []
    for o, out in enumerate(f.outputs):
        written = stores.get(out, [])
        if len(written) != 1 or loads.get(out):
            copied = _copied_first(f, out, simplify)
            if copied in f.inputs and len(loads[copied]) == 1:
                updates.append((f.inputs.index(copied), o))
            continue
        place = simplify(out.offset(written[0].indices))
        inside = set(post_order(written[0].value))
        for i, source in enumerate(f.inputs):
            if source.nbytes != out.nbytes or source.dtype != out.dtype or not loads.get(source):
                continue
            if all(e in inside and simplify(source.offset(e.indices)) is place for e in loads[source]):
                updates.append((i, o))
    return updates


def _copied_first(f: PrimFunc, out: Buffer, simplify: Simplifier) -> Buffer | None:
    """The buffer that the first statement on an output copies to it."""
    for s in f.body.stmts if isinstance(f.body, Seq) else ():
        if any(isinstance(x, Store) and x.buffer is out for x in pre_order(s)):
            return _copied_buffer(s, out, simplify)
    return None
