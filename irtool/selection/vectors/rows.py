"""Values with several reads in the statements of a tile, loaded and converted once into a variable.

    acc_0_0 = acc_0_0 + (x[0] - (v){0}) * *(const v_u *)w;             const v v_0 = x[0] - (v){0}, v_1 = *(const v_u *)w;
    acc_0_1 = acc_0_1 + (x[0] - (v){0}) * *(const v_u *)(w + 16);  ⇒   acc_0_0 = acc_0_0 + v_0 * v_1;
    acc_1_0 = acc_1_0 + (x[8] - (v){0}) * *(const v_u *)w;             …

Compilers do the same by themselves, and spend a fifth of their time on it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import fields
from itertools import accumulate

from ...tir.expr import Expr, Load, post_order
from ...tir.stmt import VECTORIZED, For, Scope, Stmt
from . import ir
from .lower import stores_of
from .rewrite import replace_values

_READ_AGAIN = 4
"""The most uses for which gcc reads a vector again rather than keep it in a register (gcc 12, tuned for Zen)."""
_WIDE, _REGISTERS = 512, 32
"""Bits of the widest vectors, and the number of registers for them."""


def is_in_registers(s: Stmt) -> bool:
    """True for a vectorized loop that writes registers only, so that memory is the same before and after it."""
    if not isinstance(s, For) or s.kind != VECTORIZED:
        return False
    return all(x.buffer.scope == Scope.REGISTER and x.buffer.shape[-1] > 1 for x in stores_of(s))


def find_rows(stmts: Sequence[Stmt]) -> list[list[Stmt]]:
    """The statements, with consecutive ones that write registers only as one row."""
    rows: list[list[Stmt]] = []
    in_row = False
    for s in stmts:
        joins = is_in_registers(s)
        if joins and in_row:
            rows[-1].append(s)
        else:
            rows.append([s])
        in_row = joins
    return rows


def join(bodies: Sequence[ir.Body]) -> ir.Body:
    """One body from those of a row: a value that several steps read becomes one named value."""
    repeated, held_keys = repeated_reads(bodies), held_reads(bodies)
    first: dict[Hashable, ir.Value] = {}
    replaced: dict[ir.Value, ir.Value] = {}
    joined = ir.Body()
    widened = widened_loads(bodies)
    unused: set[ir.Step] = set()
    for s in (s for b in bodies for s in b.steps):
        key = None if s in widened else key_of(s)
        if key is None and (key := _key_of_conversion(s, replaced)) is not None:
            first.setdefault(key, s)  # type: ignore[arg-type]  # a conversion is a value
            if first[key] is not s:
                first[key].named = True
        if isinstance(s, ir.Value) and key in first and first[key] is not s:
            replaced[s] = first[key]
            unused |= {s.value} & widened if isinstance(s, ir.Convert) else set()
            continue
        if isinstance(s, ir.Value) and key in repeated:
            first[key] = s
            s.named = True
            if isinstance(s, ir.LoadVector):
                s.stays_in_register = key in held_keys
        joined.steps.append(s)
    joined.steps = [s for s in joined.steps if s not in unused]
    if replaced:
        replace_values(joined, replaced)
    joined.functions = ir.called(joined.steps)
    return joined


def widened_loads(bodies: Sequence[ir.Body]) -> set[ir.Step]:
    """The loads whose only use is a conversion that one function does with them: several steps share its result."""
    loads = {load for b in bodies for s in b.steps if isinstance(s, ir.Convert) and (load := ir.widened_load(s))}
    others = {key_of(s) for b in bodies for s in b.steps if isinstance(s, ir.LoadVector) and s not in loads}
    return {s for s in loads if key_of(s) not in others}


def repeated_reads(bodies: Sequence[ir.Body]) -> set[Hashable]:
    """The keys of vectors that are read more than once, see `key_of`."""
    seen: set[Hashable] = set()
    twice: set[Hashable] = set()
    for body in bodies:
        for s in body.steps:
            key = key_of(s)
            if key is not None:
                (twice if key in seen else seen).add(key)
    return twice


def held_reads(bodies: Sequence[ir.Body]) -> set[Hashable]:
    """The keys of 64-byte vectors that gcc would read again for each product, so that only one operand comes from a register.

    These are vectors with up to four reads; a tile of four rows is bound by its loads then. Empty if registers are too few;
    smaller vectors are read faster than they are multiplied.
    """
    uses: dict[Hashable, list[int]] = {}
    for n, body in enumerate(bodies):
        if any(isinstance(s, ir.Splat) for s in body.steps):
            for s in filter(_is_wide_read, body.steps):
                uses.setdefault(key_of(s), []).append(n)
    again = {key for key, steps in uses.items() if 2 <= len(steps) <= _READ_AGAIN}
    sums = {s.register for body in bodies for s in body.steps if isinstance(s, ir.Assign)}
    return again if len(sums) + _most_alive([uses[key] for key in again]) < _REGISTERS else set()


def _is_wide_read(s: ir.Step) -> bool:
    """True for a repeatable read of a full vector of 64 bytes."""
    if not isinstance(s, ir.LoadVector) or s.once:
        return False
    return s.is_whole and s.stride == 1 and s.type.bits * s.type.lanes == _WIDE


def _most_alive(uses: Sequence[list[int]]) -> int:
    """The most values that are live at once, each from its first use to its last."""
    changes = Counter(steps[0] for steps in uses)
    changes.subtract(steps[-1] + 1 for steps in uses)
    return max(accumulate(changes[n] for n in sorted(changes)), default=0)


def key_of(s: ir.Step) -> Hashable | None:
    """A key of a vector that is read from memory; None for any other step."""
    if isinstance(s, ir.LoadVector):
        return None if s.once else _all_of(s)
    if isinstance(s, ir.Convert):
        load = ir.widened_load(s)
        return None if load is None else (ir.Convert, s.type, key_of(load))
    if isinstance(s, ir.Splat) and _reads_memory(s.scalar):
        return _all_of(s)
    return None


def _key_of_conversion(s: ir.Step, replaced: Mapping[ir.Value, ir.Value]) -> Hashable | None:
    """A key of a vector that is computed of one vector alone, such as 16-bit floats that are widened; None for any other step.

    Compilers convert again for each product: gcc 12 takes 2.5 times the time of float32 for a tile of 6 rows with weights in float16.
    """
    if isinstance(s, ir.Convert | ir.Bitcast | ir.Shift):
        value = replaced.get(s.value, s.value)
    elif isinstance(s, ir.Apply) and len(s.args) == 1:
        value = replaced.get(s.args[0], s.args[0])
    else:
        return None
    others = (getattr(s, f.name) for f in fields(s) if f.init and f.name not in ("value", "args"))
    return type(s), value, *others


def _all_of(s: ir.Value) -> Hashable:
    """All facts of a step: steps that differ in any fact are different."""
    return type(s), *(getattr(s, f.name) for f in fields(s) if f.init)


def _reads_memory(e: Expr) -> bool:
    """True for an expression with elements of memory, and none of registers."""
    read = [x.source for x in post_order(e) if isinstance(x, Load)]
    return bool(read) and all(b.scope != Scope.REGISTER for b in read)
