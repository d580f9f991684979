"""Sums of products of bytes and numbers of 4 bits for dot-product instructions: eight numbers in a word of the weights.

    acc += int32(x[m, 32*b + j]) * (int32(w[n, 16*b + j/2]) >> 4*(j%2) & 15)              for j in 32

⇒   words[m, i] = pack4(x[m, 4i], x[m, 4i + 1], x[m, 4i + 2], x[m, 4i + 3])
    acc += dot4_u8s7(w8[n, 4*b + i] >> 4*p & 0x0f0f0f0f, words[m, 8*b + 2*i + p])         for i in 4, p in 2

The low bits of the four bytes of a word of weights are four neighbours, the high bits the next four: one shift and one mask make a word of
bytes. Numbers of 4 bits have no sign here; their products with two bytes each fit into 16 bits, as the instruction asks for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from ...symbolic_int import is_known
from ...tir.expr import Binary, Cast, Const, Expr, Load, Var, bitwise_and, const, substitute
from ...tir.forms import Map, Reduction, buffers_read
from ...tir.int8_dot import LOW_BITS, NARROW, STEPS
from ...tir.int8_dot import dot as words_dot
from ...tir.kernel import Kernel
from ...tir.program import Program, RunKernel, constant_inputs
from ...tir.stmt import Buffer, Scope, Store
from ...tir.vector_target import VectorTarget
from ..core.affine import coefficients, depends, simplifier, summand
from ..core.program_rewriter import ProgramRewriter
from .dot_kinds import word_kinds

EIGHT = 2 * STEPS
"""Numbers of 4 bits in a word."""


@dataclass(frozen=True)
class PackedProduct:
    """A sum of products along `k`: of bytes, and of numbers of 4 bits, two in each byte of `weights`.

    Attributes:
        data_place, weights_place: the indices along the last axes, without the part that moves with `k`.
    """

    data: Load
    weights: Load
    k: Var
    data_place: Expr
    weights_place: Expr


def tensorize_packed_weights(program: Program, target: VectorTarget) -> None:
    """Multiplies words of weights of 4 bits where the processor has an instruction for it."""
    if math.isinf(target.dot_cost(_function(target))) or target.lanes(4) < STEPS:
        return
    with ProgramRewriter(program) as rewriter:
        for k, calls in rewriter.open_kernels():
            constants = set(constant_inputs(calls))
            for stage, form in enumerate(k.stages):
                p = find_packed_product(form) if isinstance(form, Reduction) else None
                if p is not None and p.weights.source in constants and _is_read_once(k, stage, p):
                    k = _replace(k, stage, p, calls, rewriter, target)


def _function(target: VectorTarget) -> str:
    return "dot4_s8s8" if target.first_factor == "int8" else NARROW


def find_packed_product(r: Reduction) -> PackedProduct | None:
    """The sum as such a product; None for other sums."""
    added = summand(r)
    if r.guards or r.acc.dtype != "int32" or len(r.inner) != 1 or not isinstance(added, Binary) or added.op != "*":
        return None
    ((k, extent),) = r.inner
    if not is_known(extent) or extent % EIGHT:
        return None
    for a, b in ((added.a, added.b), (added.b, added.a)):
        data, packed = _byte(a), _packed(b)
        if data is None or packed is None or data.dtype != "int8":
            continue
        product = _along(r, k, data, *packed)
        if product is not None:
            return product
    return None


def _byte(e: Expr) -> Load | None:
    """The byte that an expression widens."""
    if not isinstance(e, Cast) or e.dtype != "int32" or not isinstance(e.value, Load):
        return None
    return e.value if isinstance(e.value.source, Buffer) and e.value.dtype in ("int8", "uint8") else None


def _packed(e: Expr) -> tuple[Load, Expr] | None:
    """The byte, and the shift, of an expression that takes 4 bits of it."""
    if not isinstance(e, Binary) or e.op != "&" or not isinstance(e.b, Const) or e.b.value != 15:
        return None
    if not isinstance(e.a, Binary) or e.a.op != ">>":
        return None
    byte = _byte(e.a.a)
    return None if byte is None else (byte, e.a.b)


def _along(r: Reduction, k: Var, data: Load, weights: Load, shift: Expr) -> PackedProduct | None:
    """The product, if neighbours along `k` are neighbours of the data, and the low and the high bits of a byte of the weights."""
    half = Var(f"{k.name}_half", k.dtype)
    loops = [*r.loops, (half, dict(r.inner)[k] // 2)]
    simplify = simplifier(loops, ())
    if any(depends(i, k) for e in (data, weights) for i in e.indices[:-1]):
        return None
    (step,) = coefficients(simplifier(r.loops, r.inner), data.indices[-1], (k,))
    places = []
    for parity in (0, 1):
        values: dict[Expr, Expr] = {k: half * 2 + parity}
        shifted = simplify(substitute(shift, values))
        if not isinstance(shifted, Const) or shifted.value != 4 * parity:
            return None
        places.append(simplify(substitute(weights.indices[-1], values)))
    terms, first = simplify.linear(places[0])
    if simplify.linear(places[1]) != (terms, first) or step != 1 or terms.get(half) != 1:
        return None
    start: dict[Expr, Expr] = {half: const(0, half.dtype)}
    of_weights = simplify(substitute(places[0], start))
    of_data = simplify(substitute(data.indices[-1], {k: const(0, k.dtype)}))
    for place, numbers in ((of_weights, STEPS), (of_data, EIGHT)):
        others, rest = simplify.linear(place)
        if rest % numbers or any(n % numbers for n in others.values()) or half in others or depends(place, k):
            return None
    if weights.source.shape[-1] % STEPS or data.source.shape[-1] % STEPS:
        return None
    return PackedProduct(data, weights, k, of_data, of_weights)


def _is_read_once(k: Kernel, stage: int, p: PackedProduct) -> bool:
    """True if no other stage reads the weights."""
    return p.weights.source not in buffers_read(*(f for n, f in enumerate(k.stages) if n != stage))


def _replace(
    k: Kernel, stage: int, p: PackedProduct, calls: list[RunKernel], rewriter: ProgramRewriter, target: VectorTarget
) -> Kernel:
    """Gives the calls of a kernel one that multiplies words, and packs its weights."""
    r = k.stages[stage]
    assert isinstance(r, Reduction) and isinstance(p.weights.source, Buffer) and isinstance(p.data.source, Buffer)
    packed = p.weights.source
    shape = (*packed.shape[:-1], packed.shape[-1] // STEPS)
    words = packed.replace(shape=shape, dtype="int32")
    number = k.inputs.index(packed)
    for s in calls:
        weights = s.inputs[number].resolve()
        s.inputs[number] = rewriter.derive(
            weights, "words of 4 bits", pack_words, shape, "int32", f"{weights.name}_words"
        )
    source = p.data.source
    data_words = Buffer(f"{source.name}_words", (*source.shape[:-1], source.shape[-1] // STEPS), "int32", Scope.GLOBAL)
    summed = _sum(r, p, words, data_words, target)
    stages = [*k.stages[:stage], _packing(source, data_words), summed, *k.stages[stage + 1 :]]
    params = [words if b is packed else b for b in k.params]
    changed = k.with_stages(stages, params=params, temporaries=[*k.temporaries, data_words])
    rewriter.replace(calls, changed)
    return changed


def _sum(r: Reduction, p: PackedProduct, words: Buffer, data_words: Buffer, target: VectorTarget) -> Reduction:
    """The sum of products of words."""
    steps = dict(r.inner)[p.k] // EIGHT
    word, part = Var(p.k.name, p.k.dtype), Var(f"{p.k.name}_p", p.k.dtype)
    inner = ((word, steps), (part, 2)) if steps > 1 else ((part, 2),)
    simplify = simplifier(r.loops, inner)
    index: Expr = word if steps > 1 else const(0, p.k.dtype)
    place = simplify(_divided(p.weights_place, STEPS, simplify) + index)
    data_place = simplify(_divided(p.data_place, STEPS, simplify) + index * 2 + part)
    numbers = bitwise_and(Load(words, (*p.weights.indices[:-1], place)) >> (part * 4), const(LOW_BITS))
    data = Load(data_words, (*p.data.indices[:-1], data_place))
    if _function(target) == NARROW:
        dot = words_dot(numbers, data, ("uint8", "int8"), narrow=True)
    else:
        dot = words_dot(numbers, data, ("int8", "int8"))
    assert isinstance(r.update, Binary)
    return replace(r, inner=inner, update=Binary("+", r.acc.element(), dot, r.acc.dtype))


def _divided(e: Expr, by: int, simplify: Any) -> Expr:
    """A sum of multiples of a number, divided by it."""
    terms, rest = simplify.linear(e)
    result: Expr = const(rest // by)
    for atom, n in terms.items():
        result = result + atom * (n // by)
    return result


def _packing(source: Buffer, words: Buffer) -> Map:
    """The stage that makes words of bytes along the last axis."""
    loops = [(Var(f"ax{n}"), d) for n, d in enumerate(words.shape) if d != 1]
    named = iter(v for v, _ in loops)
    indices: list[Expr] = [next(named) if d != 1 else const(0) for d in words.shape]
    bytes_ = word_kinds()[0]
    simplify = simplifier(loops)
    word = bytes_.word(indices[-1], source.shape[-1], lambda i: Load(source, (*indices[:-1], i)), simplify)
    return Map(tuple(loops), (Store(words, indices, word),))


def pack_words(data: Any) -> Any:
    """Bytes `(…, K / 2)` of two numbers each as int32 words `(…, K / 8)`: four numbers in the low bits of the bytes, the next four in the
    high bits.
    """
    import numpy as np

    pairs = data.view(np.uint8).reshape(*data.shape[:-1], -1, STEPS)
    numbers = np.stack([pairs & 15, pairs >> 4], -1).reshape(*pairs.shape[:-1], EIGHT)
    low, high = numbers[..., :STEPS], numbers[..., STEPS:]
    return np.ascontiguousarray(low | high << 4).view("<u4")[..., 0].astype(np.uint32).view(np.int32)
