"""Words that need no packing: their numbers are contiguous in memory already.

    words[n, c, h, w] = pack2_bf16(x[n, 2c, h, w], x[n, 2c + 1, h, w])        x in blocks of 16 channels, words in blocks of 8
    acc += dot2_bf16(words[n, rc, h, w], …)

⇒   acc += dot2_bf16(x'[n, rc, h, w], …)                                      x' is the memory of x, seen as words

The producer of such an operand stores words, in effect, and the copy is left out. `Buffer.numbers` of x' has the dtype of its
memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...tir.bf16_dot import NUMBERS, PACK_PAIR
from ...tir.expr import Call, Const, Load
from ...tir.forms import AnyForm, Map, buffers_read, with_buffers
from ...tir.int8_dot import PACKS
from ...tir.kernel import Kernel
from ...tir.program import TEMP, Program, RunKernel
from ...tir.stmt import Buffer
from ...tir.vector_target import VectorTarget
from ..core.affine import simplifier
from ..core.program_rewriter import ProgramRewriter

_STEPS = {**PACKS, PACK_PAIR: NUMBERS}
"""Numbers in a word, by the intrinsic that packs it."""


def elide_packing(program: Program, target: VectorTarget) -> None:
    """Reads temporaries of the program in place, if a stage copies them into words in the same order; other slots may have any
    alignment."""
    with ProgramRewriter(program) as rewriter:
        for k, calls in rewriter.open_kernels():
            copies = {f: pair for f in k.stages if (pair := copied_words(f, k, calls)) is not None}
            if not copies:
                continue
            seen = {words: words.replace(name=x.name, scope=x.scope, numbers=x.dtype) for words, x in copies.values()}
            params = {x: seen[words] for words, x in copies.values()}
            changed = k.with_stages(
                [with_buffers(f, seen) for f in k.stages if f not in copies],
                params=[params.get(b, b) for b in k.params],
            )
            rewriter.replace(calls, changed)


def copied_words(form: AnyForm, k: Kernel, calls: Sequence[RunKernel]) -> tuple[Buffer, Buffer] | None:
    """The words that a stage packs, and the parameter whose memory has them in order already; None for other stages."""
    if not isinstance(form, Map) or len(form.stores) != 1:
        return None
    (store,) = form.stores
    words, value = store.buffer, store.value
    steps = _STEPS.get(value.name, 0) if isinstance(value, Call) else 0
    if not steps or words not in k.temporaries:
        return None
    assert isinstance(value, Call)
    numbers = [e for e in value.args if isinstance(e, Load) and isinstance(e.source, Buffer)]
    if len(numbers) != steps:
        return None
    x = numbers[0].source
    assert isinstance(x, Buffer)
    if x not in k.inputs or x.size != steps * words.size or sum(x in buffers_read(f) for f in k.stages) != 1:
        return None
    slots = {s.inputs[k.inputs.index(x)].resolve() for s in calls}
    if any(slot.kind != TEMP for slot in slots):
        return None
    simplify = simplifier(form.loops)
    first = words.offset(store.indices) * steps
    behind = [simplify(x.offset(e.indices) - first) for e in numbers if e.source is x]
    same = [e.value for e in behind if isinstance(e, Const)] == list(range(steps))
    return (words, x) if same else None
