"""Bytes stored with the shift of 128 that dot products need.

    x[n, c, h, w] = int8(…)                                         written by one kernel
    words[…] = pack4(x[…], x[…], x[…], x[…]) ^ 0x80808080           by the next one (see `signedness_shift`)

⇒   x[n, c, h, w] = int8(…) ^ -128
    words[…] = pack4(x[…], x[…], x[…], x[…])                        which `elide_packing` leaves out

The producer shifts numbers in vectors before it stores them; a separate pass over words in memory would take longer. Kernels that
read single elements shift them back.
"""

from __future__ import annotations

from dataclasses import replace

from ...tir.expr import Call, Const, Expr, Load, Select, bitwise_xor, const, if_then_else
from ...tir.forms import AnyForm, Map, Reduction, buffers_read, rewrite_loads, stores_of
from ...tir.int8_dot import PACK
from ...tir.kernel import Kernel
from ...tir.program import TEMP, Program, RunKernel, Slot
from ...tir.stmt import Buffer, Store
from ...tir.vector_target import VectorTarget
from ..core.affine import loads
from ..core.program_rewriter import ProgramRewriter
from ..layouts.stage import row_major_slots
from .elide_packing import copied_words
from .signedness_shift import as_it_was, moved_word

Runs = dict[Kernel, list[RunKernel]]
Use = tuple[Kernel, Buffer]
"""A kernel that reads or writes a slot, by one of its parameters."""


def store_shifted_bytes(program: Program, target: VectorTarget) -> None:
    """Stores temporaries shifted if their words are contiguous and shifted; not if some calls of a kernel pass it another
    slot."""
    with ProgramRewriter(program) as rewriter:
        chosen = _chosen(rewriter.calls, row_major_slots(program))
        for k, calls in rewriter.calls.items() if chosen else ():
            moved = {b for b, slots in _slots(k, calls) if slots <= chosen}
            if moved:
                rewriter.replace(calls, k.with_stages([_with_moved(f, moved) for f in k.stages]))


def _slots(k: Kernel, calls: list[RunKernel]) -> list[tuple[Buffer, set[Slot]]]:
    """The parameters of a kernel, each with the slots that its calls pass."""
    return [(b, {[*s.inputs, *s.outputs][n].resolve() for s in calls}) for n, b in enumerate(k.params)]


def _chosen(runs: Runs, fixed: set[Slot]) -> set[Slot]:
    """The slots that are stored shifted: those that gain, as long as all kernels that read or write them can follow."""
    uses: dict[Slot, list[Use]] = {}
    slots_of: dict[Use, set[Slot]] = {}
    gaining: set[Slot] = set()
    for k, calls in runs.items():
        moving = [] if k.finished else [f for f in k.stages if _moved(f) is not None]
        for b, slots in _slots(k, calls):
            slots_of[k, b] = slots
            for slot in slots:
                uses.setdefault(slot, []).append((k, b))
            if any(_gains(f, k, calls, b) for f in moving):
                gaining |= slots
    chosen = {s for s in gaining if s.kind == TEMP and s not in fixed and all(_follows(*u) for u in uses[s])}
    while True:
        consistent = {s for s in chosen if all(slots_of[u] <= chosen for u in uses[s])}
        if consistent == chosen:
            return chosen
        chosen = consistent


def _gains(f: AnyForm, k: Kernel, calls: list[RunKernel], b: Buffer) -> bool:
    """True if a stage copies a parameter into shifted words, and the words would be contiguous in memory without the shift."""
    unmoved = _unmoved(f, {b})
    if unmoved is f or not isinstance(unmoved, Map):
        return False
    copied = copied_words(unmoved, k, calls)
    return copied is not None and copied[1] is b


def _follows(k: Kernel, b: Buffer) -> bool:
    """True if a kernel can read or write a parameter whose bytes are shifted."""
    if k.finished or not all(isinstance(f, Map | Reduction) for f in k.stages):
        return False
    if b in k.outputs:
        return b not in buffers_read(*k.stages)
    return all(b not in _summed(f) or _unmoved(f, {b}) is not f for f in k.stages)


def _summed(f: AnyForm) -> set[Buffer]:
    """The buffers that the steps of a sum read, or that indices of stores read."""
    summed = {e.source for e in loads(f.update)} if isinstance(f, Reduction) else set()
    summed |= {e.source for s in stores_of(f) for e in loads(*s.indices)}
    return {b for b in summed if isinstance(b, Buffer)}


def _with_moved(f: AnyForm, moved: set[Buffer]) -> AnyForm:
    """A stage that reads and writes buffers whose bytes are shifted."""
    assert isinstance(f, Map | Reduction)
    unmoved = _unmoved(f, moved)
    if unmoved is f:
        unmoved = rewrite_loads(f, lambda e: _other_sign(e) if e.source in moved else e)
    assert isinstance(unmoved, Map | Reduction)
    stores = tuple(Store(s.buffer, s.indices, _other_sign(s.value)) if s.buffer in moved else s for s in unmoved.stores)
    return replace(unmoved, stores=stores)


def _other_sign(e: Expr) -> Expr:
    """A byte shifted by 128: its highest bit is inverted."""
    return bitwise_xor(e, const(-128 if e.dtype == "int8" else 128, e.dtype))


def _moved(f: AnyForm) -> Expr | None:
    """The word of a stage that stores shifted words, before the shift; None for other stages."""
    if not isinstance(f, Map) or len(f.stores) != 1:
        return None
    word = as_it_was(f.stores[0].value)
    return None if word is f.stores[0].value else word


def _unmoved(f: AnyForm, moved: set[Buffer]) -> AnyForm:
    """A stage that packs shifted words, without the shift if the buffers' bytes are shifted already; other stages unchanged."""
    word = _moved(f)
    if word is None:
        return f
    assert isinstance(f, Map)
    (store,) = f.stores
    padded = isinstance(word, Select) and isinstance(word.other, Const)
    inside = word.then if isinstance(word, Select) and padded else word
    if not isinstance(inside, Call) or inside.name != PACK:
        return f
    if not all(isinstance(e, Const) or (isinstance(e, Load) and e.source in moved) for e in inside.args):
        return f
    if isinstance(word, Select) and padded:
        inside = if_then_else(word.cond, inside, moved_word(word.other))
    return Map(f.loops, (Store(store.buffer, store.indices, inside),))
