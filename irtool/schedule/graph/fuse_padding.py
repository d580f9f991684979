"""Fusion of padding with a number other than zero into the kernel that multiplies the padded tensor.

    p = pad(x, -3)          (a kernel)       ⇒       for a kernel: p = if inside: x else -3; for o, h, w: acc += p[…] * w[…]
    y = conv2d(p, w)        (a kernel)

A quantized tensor is padded with its zero point. What a convolution pads by itself, with zeros, is a stage of its kernel; so this becomes
one, which packing into words takes up.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...tir.expr import Const, Load, Select, const
from ...tir.forms import AnyForm, Map, Reduction, buffers_read, rewrite_loads, with_buffers
from ...tir.int8_dot import STEPS
from ...tir.kernel import Kernel
from ...tir.program import CONSTANT, TEMP, Program, RunKernel, Slot
from ...tir.stmt import Scope
from ...tir.vector_target import VectorTarget
from ..instructions.tensorize import find_product
from .step_lists import Mentions, fused_facts, rewrite_step_lists

Pair = tuple[Kernel, int, Kernel, int]
"""A kernel that pads, its number, the kernel that multiplies, and which of its inputs is padded."""


def fuse_padding(program: Program, target: VectorTarget) -> None:
    """Joins what is only padded with the product that is its only reader, in every function of the program."""
    made: dict[Pair, Kernel] = {}

    def fuse(body: list, mentions: Mentions) -> None:
        at = 0
        while at < len(body):
            reader = _reader(body, at, mentions)
            if reader is None:
                at += 1
                continue
            first, second = body[at], body[reader]
            body[reader] = _joined(first, second, made)
            mentions.fused((first, second), body[reader])
            del body[at]

    rewrite_step_lists(program, fuse)


def _reader(body: Sequence[object], at: int, mentions: Mentions) -> int | None:
    """The place of the step that multiplies what a step pads; None where there is none, or others read it."""
    first = body[at]
    if not isinstance(first, RunKernel) or _padding(first) is None:
        return None
    slot, source = first.outputs[0].resolve(), first.inputs[0].resolve()
    if slot.kind != TEMP or len(mentions.of(slot)) != 2:
        return None
    for n, s in enumerate(body[at + 1 :], at + 1):
        if not isinstance(s, RunKernel):
            return None
        if id(s) in mentions.of(slot):
            return n if _multiplies(s, slot) else None
        if any(x.resolve() is source for x in s.outputs):
            return None
    return None


def _padding(s: RunKernel) -> int | None:
    """The number that a step pads its first input of bytes with, if it does nothing else."""
    k = s.kernel
    if k.finished or len(k.stages) != 1 or k.temporaries:
        return None
    (f,) = k.stages
    if not isinstance(f, Map) or len(f.stores) != 1:
        return None
    value = f.stores[0].value
    if not isinstance(value, Select) or value.dtype not in ("int8", "uint8") or not isinstance(value.then, Load):
        return None
    if value.then.source is not k.inputs[0]:
        return None
    if isinstance(value.other, Const):
        return int(value.other.value) if len(k.inputs) == 1 else None
    slot = s.inputs[-1].resolve()
    is_constant = len(k.inputs) == 2 and isinstance(value.other, Load) and value.other.source is k.inputs[1]
    return int(slot.data.reshape(-1)[0]) if is_constant and slot.kind == CONSTANT and slot.size == 1 else None


def _multiplies(s: RunKernel, slot: Slot) -> bool:
    """True if a step reads a slot once, as a factor of a sum that words can be made for."""
    k = s.kernel
    read = [b for x, b in zip(s.inputs, k.inputs) if x.resolve() is slot]
    if k.finished or len(read) != 1 or read[0].shape != slot.shape:
        return False
    readers = [f for f in k.stages if read[0] in buffers_read(f)]
    if len(readers) != 1 or not isinstance(readers[0], Reduction):
        return False
    p = find_product(readers[0])
    return p is not None and p.kind.numbers == STEPS and any(e.source is read[0] for e, _ in p.operands)


def _joined(first: RunKernel, second: RunKernel, made: dict[Pair, Kernel]) -> RunKernel:
    """The second step, which pads for itself."""
    slot = first.outputs[0].resolve()
    number = next(n for n, x in enumerate(second.inputs) if x.resolve() is slot)
    padding = _padding(first)
    assert padding is not None
    key = (first.kernel, padding, second.kernel, number)
    if key not in made:
        made[key] = _one_kernel(*key)
    inputs = [first.inputs[0] if n == number else x for n, x in enumerate(second.inputs)]
    return RunKernel(made[key], inputs, second.outputs, places=first.places + second.places)


def _one_kernel(a: Kernel, padding: int, b: Kernel, number: int) -> Kernel:
    """The second kernel, with the stage of the first one in place of its input of that number."""
    read, source = b.inputs[number], a.inputs[0]
    param = source.replace(name=read.name, scope=read.scope)
    padded = read.replace(name="pad", scope=Scope.GLOBAL)
    (pad,) = a.stages
    assert isinstance(pad, Map)
    pad = rewrite_loads(pad, lambda e: e if e.source is source else const(padding, e.dtype))
    stages: list[AnyForm] = [with_buffers(pad, {source: param, a.outputs[0]: padded})]
    return b.with_stages(
        [*stages, *(with_buffers(f, {read: padded}) for f in b.stages)],
        params=[param if p is read else p for p in b.params],
        temporaries=[padded, *b.temporaries],
        **fused_facts((a, b)),
    )
