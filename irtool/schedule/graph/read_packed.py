"""Weights and states that are stored smaller than they are read, unpacked where they are read.

    for n, k: w[n, k] = float32(bits(data[n, k // 2], k % 2)) * scale[n, k // 32]
    for m, n: for k: acc += x[m, k] * w[n, k]

    ⇒   for m, n: for k_b, k_j, k_p: acc += x[m, 32*k_b + 2*k_j + k_p] * float32(bits(data[n, 16*k_b + k_j], k_p)) * scale[n, k_b]

The unpacked tensor would take several times the memory, and reading it several times the time. The axes of sums that the indices divide are split,
so that all indices are sums of loops again: layouts and strategies see operands like any others. A state may be a cache that grows with each step:
what is read of it is read as it lies in memory, in 16 bits or in 8 bits with scales.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace

from ...tir.dtypes import is_int, itemsize
from ...tir.expr import QUOTIENTS, Binary, Const, Expr, Load, Var, post_order
from ...tir.forms import AnyForm, Map, Reduction, Steps, buffers_read, rewrite_loads, with_buffers
from ...tir.kernel import Kernel
from ...tir.program import CONSTANT, TEMP, Program, RunKernel, Slot
from ...tir.stmt import Store
from ...tir.vector_target import VectorTarget
from ..core.affine import simplifier
from ..core.block import Block
from ..primitives import split
from ..windows.padded_copy import with_values, writes_whole
from .step_lists import Mentions, fused_facts, rewrite_step_lists

Changed = dict[tuple[Kernel, Kernel, tuple[int, ...]], Kernel]
"""The kernels in the place of others, by the kernel that unpacks, and the numbers of the inputs that were unpacked."""


def read_packed_weights(program: Program, target: VectorTarget) -> None:
    """Makes kernels unpack the weights and states that they read, and removes the steps that unpack these for nothing else."""
    changed: Changed = {}
    states = {x.resolve() for f in program.functions.values() for s in f.states for x in (s.slot, s.next)}
    rewrite_step_lists(program, lambda body, mentions: _unpack_in_readers(body, mentions, changed, states))


def _unpack_in_readers(body: list, mentions: Mentions, changed: Changed, states: Container[Slot]) -> None:
    for unpacking in [s for s in body if isinstance(s, RunKernel)]:
        store = _unpacked(unpacking, states)
        slot = unpacking.outputs[0].resolve() if store is not None else None
        if store is None or slot is None or slot.kind != TEMP:
            continue
        readers = [s for s in body if isinstance(s, RunKernel) and any(x.resolve() is slot for x in s.inputs)]
        for s in readers:
            numbers = tuple(n for n, x in enumerate(s.inputs) if x.resolve() is slot)
            if not _may_unpack(s.kernel, numbers, store) or not _are_unchanged(body, unpacking, s):
                continue
            key = s.kernel, unpacking.kernel, numbers
            if key not in changed:
                changed[key] = _unpacking_kernel(s.kernel, unpacking.kernel, numbers)
            inputs = [x for n, x in enumerate(s.inputs) if n not in numbers]
            reader = RunKernel(changed[key], [*inputs, *unpacking.inputs], s.outputs, s.workspace, s.places)
            mentions.fused([s], reader)
            body[body.index(s)] = reader
        if mentions.are_all(slot, [unpacking]):
            mentions.fused([unpacking], RunKernel(unpacking.kernel, [], []))
            body.remove(unpacking)


def _unpacked(s: RunKernel, states: Container[Slot]) -> Store | None:
    """The store of a step that makes a larger tensor of constants, some of which are bytes, or of states; None for other steps."""
    k = s.kernel
    if k.finished or len(k.stages) != 1 or len(s.outputs) != 1 or not s.inputs:
        return None
    form = k.stages[0]
    if not isinstance(form, Map) or not form.stores or not writes_whole(form):
        return None
    slots = [x.resolve() for x in s.inputs]
    (store,) = form.stores[:1]
    if all(x in states for x in slots):
        return store if _widens(store.value) else None
    if any(x.kind != CONSTANT for x in slots) or sum(x.nbytes for x in slots) >= s.outputs[0].resolve().nbytes:
        return None
    is_packed = any(is_int(b.dtype) and itemsize(b.dtype) == 1 for b in k.inputs)
    return store if is_packed else None


def _widens(value: Expr) -> bool:
    """True for elements of which each is one element in fewer bits, with a scale or without."""
    loads = [e for e in post_order(value) if isinstance(e, Load)]
    narrow = [e for e in loads if itemsize(e.dtype) < itemsize(value.dtype)]
    return len(narrow) == 1 and len(loads) <= 2


def _are_unchanged(body: list, unpacking: RunKernel, reader: RunKernel) -> bool:
    """True if no step between these two writes an input of the first one."""
    sources = {x.resolve() for x in unpacking.inputs}
    between = body[body.index(unpacking) + 1 : body.index(reader)]
    return not any(x.resolve() in sources for s in between for x in s.writes)


def _may_unpack(k: Kernel, numbers: Sequence[int], store: Store) -> bool:
    """True if the stages of a kernel read the tensor, in its own shape, by formulas."""
    if k.finished or any(isinstance(f, Steps) for f in k.stages):
        return False
    return all(k.inputs[n].shape == store.buffer.shape for n in numbers)


def _unpacking_kernel(k: Kernel, unpacking: Kernel, numbers: Sequence[int]) -> Kernel:
    """A kernel that unpacks some of its inputs: the packed ones take their place, behind its other inputs."""
    sources = {b: b.replace(name=f"{b.name}_packed") for b in unpacking.inputs}
    unpacked_form = with_buffers(unpacking.stages[0], sources)
    assert isinstance(unpacked_form, Map)
    (unpacked,) = unpacked_form.stores
    removed = [k.inputs[n] for n in numbers]
    stages: list[AnyForm] = []
    for form in k.stages:
        assert not isinstance(form, Steps)
        read = buffers_read(form)
        for b in removed:
            if b in read:
                store = Store(b, unpacked.indices, unpacked.value)
                form = rewrite_loads(form, lambda e, s=store: with_values(e, s))  # type: ignore[misc]  # mypy infers no lambda with a default
        stages.append(split_unpacked_sums(form) if isinstance(form, Reduction) and read & {*removed} else form)
    inputs = [b for b in k.inputs if b not in removed]
    facts = fused_facts([unpacking, k])
    return k.with_stages(stages, params=[*inputs, *sources.values(), *k.outputs]).replace(**facts)


def split_unpacked_sums(r: Reduction) -> Reduction:
    """Splits the axes of a sum by the numbers that divide them in the operands, the greatest first, as far as they divide the axis."""
    while True:
        step = next(((v, d) for v, n in r.inner for d in _divisors(r, v) if n % d == 0 and d < n), None)
        if step is None:
            return r
        v, divisor = step
        extent = dict(r.inner)[v]
        b = split(Block.of(r), v, [extent // divisor, divisor], [f"{v.name}_b", v.name])
        r = b.result()
        simplify = simplifier(r.loops, r.inner)
        r = replace(r, update=simplify(r.update))


def _divisors(r: Reduction, v: Var) -> list[int]:
    """The numbers by which the update divides a loop's variable, the greatest first."""
    return sorted(
        {
            e.b.int_value
            for e in post_order(r.update)
            if isinstance(e, Binary)
            and e.op in QUOTIENTS
            and isinstance(e.b, Const)
            and any(x is v for x in post_order(e.a))
        },
        reverse=True,
    )
