"""Sums of products for dot-product instructions: 8-bit numbers in words of four, bfloat16 numbers in words of two.

Instructions that multiply matrices of 8-bit numbers take words of eight.

    acc += int32(x[n, c, h]) * int32(w[o, c])        for c in 128

⇒   words[n, c, h] = pack4(x[n, 4c, h], x[n, 4c + 1, h], x[n, 4c + 2, h], x[n, 4c + 3, h])
    acc += dot4_u8s8(words[n, c, h], w4[o, c])       for c in 32

Sums of a kernel with the same operands (the phases of a transposed convolution) share their words; operands under a condition on
other variables of the sum (padding) become words under that condition.

Later stages see a sum of words as one of int32 (of float32): layouts, register tiles and copies treat it as such. The build packs
constants; other operands get a stage that packs them, with the padding of the stage before. Zeros fill the last word.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any

from ...symbolic_int import bound, estimate
from ...tir.expr import (
    Binary,
    Cast,
    Const,
    Expr,
    Load,
    Select,
    Var,
    children,
    const,
    if_then_else,
    post_order,
)
from ...tir.forms import AnyForm, Map, Reduction, buffers_read, stores_of
from ...tir.int8_dot import NARROW, STEPS
from ...tir.int8_dot import dot as words_dot
from ...tir.kernel import Kernel
from ...tir.program import (
    CONSTANT,
    TEMP,
    Program,
    RunKernel,
    Slot,
    constant_inputs,
)
from ...tir.simplify import Simplifier
from ...tir.stmt import Buffer, Scope, Store
from ...tir.vector_target import VectorTarget
from ..constants.finite_weights import FiniteWeights
from ..core.affine import depends, simplifier
from ..core.products import loops_of_one
from ..core.program_rewriter import ProgramRewriter
from ..cost.machine import FEWEST_LANES, REUSE
from ..cost.winograd import better_transform
from ..strategies.winograd.find import find_convolution
from ..windows.padded_copy import with_values, writes_whole
from .dot_kinds import WordKind, long_kind, wide_kind, word_kinds
from .matrix_tiles import filled_count, has_tiles
from .narrow_weights import fit_in_pairs
from .signedness_shift import Movement, moved_word, movement


@dataclass(frozen=True)
class Product:
    """A sum of products whose operands can be packed into words of this `kind`.

    Each operand has `k`, an axis of the sum, as its index number `first` or `second`, or `k` plus the first channel of a group.

    Attributes:
        guards: the condition under which an operand is read; it is 0 otherwise.
        innermost: true if the words of a sum are contiguous.
        narrow: true if sums of two products of the weights fit into 16 bits.
    """

    kind: WordKind
    a: Load
    b: Load
    k: Var
    extent: int
    first: int
    second: int
    guards: Mapping[Load, Expr]
    innermost: bool = False
    narrow: bool = False

    def order(self, axis: int, ndim: int) -> list[int]:
        """The order of an operand's axes in its words; `axis` is the summed one."""
        rest = [n for n in range(ndim) if n != axis]
        return [*rest, axis] if self.innermost else list(range(ndim))

    @property
    def dtypes(self) -> tuple[str, str]:
        return self.a.dtype, self.b.dtype

    @property
    def is_grouped(self) -> bool:
        """True if sums read a range of an operand along its axis: that of their group of channels."""
        return any(not isinstance(e.indices[axis], Var) for e, axis in self.operands)

    def is_whole(self, kind: WordKind) -> bool:
        """True if the numbers that a sum reads of each operand are full words of that kind, or all numbers along the axis."""
        simplify = Simplifier()
        for e, axis in self.operands:
            if e.indices[axis] is self.k:
                continue
            assert isinstance(e.source, Buffer)
            terms, first = simplify.linear(e.indices[axis])
            others = [first, self.extent, e.source.shape[axis], *(n for atom, n in terms.items() if atom is not self.k)]
            if terms.get(self.k) != 1 or any(n % kind.numbers for n in others):
                return False
        return True

    def count(self, e: Load, axis: int, words: int) -> int:
        """The number of words of an operand along its axis, for `words` words in a sum: those of all groups."""
        if isinstance(e.indices[axis], Var):
            return words
        assert isinstance(e.source, Buffer)
        return e.source.shape[axis] // self.kind.numbers

    def place(self, e: Load, axis: int, word: Expr, simplify: Simplifier) -> Expr:
        """The index of a word of the sum along an operand's axis."""
        if isinstance(e.indices[axis], Var):
            return word
        terms, first = simplify.linear(e.indices[axis])
        place: Expr = word + first // self.kind.numbers
        for atom, n in terms.items():
            place = place if atom is self.k else place + atom * (n // self.kind.numbers)
        return simplify(place)

    @property
    def operands(self) -> tuple[tuple[Load, int], tuple[Load, int]]:
        """The operands, each with the number of its summed axis."""
        return (self.a, self.first), (self.b, self.second)

    def shares_words(self, other: Product) -> bool:
        """True if both products pack the same operands into the same words."""
        if self.kind is not other.kind or self.extent != other.extent:
            return False
        return all(a.source is b.source and n == m for (a, n), (b, m) in zip(self.operands, other.operands))


def tensorize_products(program: Program, target: VectorTarget) -> None:
    """Packs products of 8-bit or bfloat16 numbers if that is faster.

    On processors without vectors, it packs 8-bit numbers if an instruction adds several products of them. Convolutions of
    bfloat16 numbers that Winograd's algorithm computes faster in float32 stay as they are.
    """
    if target.lanes(4) < 4 and target.word_products == 1:
        return
    finite = FiniteWeights(program)
    with ProgramRewriter(program) as rewriter:
        for k, calls in rewriter.open_kernels():
            constants = set(constant_inputs(calls))
            products = ((n, find_product(f)) for n, f in enumerate(k.stages) if isinstance(f, Reduction))
            sums = {n: p for n, p in products if p is not None}
            for stage, p in sums.items():
                alike = {n: q for n, q in sums.items() if p.shares_words(q)}
                if _pays(k, alike, constants, target):
                    narrow = partial(_is_narrow, k, alike, constants, calls)
                    alike = {n: _of_other_words(k.stages[n], q, target, narrow) for n, q in alike.items()}
                    if not _is_transformed(finite.mark(k), stage, calls, target):
                        _replace(k, alike, constants, calls, rewriter, target)
                    break


def find_product(r: Reduction) -> Product | None:
    """The sum as a product of such numbers, along the longest axis that both operands have; None for other sums."""
    kind = next((k for k in word_kinds() if any(is_step(r, m) for m in k.meanings.values())), None)
    if r.guards or kind is None:
        return None
    guards = {e.then: e.cond for e in post_order(r.update) if isinstance(e, Select) and isinstance(e.then, Load)}
    read = [e for e in _outside_conditions(r.update) if isinstance(e, Load) and e.source is not r.acc]
    if len(read) != 2:
        return None  # a sum of squares of one operand
    a, b = read
    best: Product | None = None
    for k, extent in r.inner:
        axes_of = [[n for n, i in enumerate(e.indices) if depends(i, k)] for e in (a, b)]
        if (
            any(len(axes) != 1 for axes in axes_of)
            or bound(extent) < kind.least
            or any(depends(c, k) for c in guards.values())
        ):
            continue
        product = Product(kind, a, b, k, extent, axes_of[0][0], axes_of[1][0], guards)
        if product.is_whole(kind) and (best is None or bound(extent) > bound(best.extent)):
            best = product
    return best


def _outside_conditions(e: Expr) -> list[Expr]:
    """The nodes of an expression, without those of conditions."""
    conditions: dict[Expr, None] = {}
    stack = [e]
    while stack:
        x = stack.pop()
        if x not in conditions:
            conditions[x] = None
            stack += reversed((x.then, x.other) if isinstance(x, Select) else children(x))
    return list(conditions)


def is_step(r: Reduction, pattern: Reduction) -> bool:
    """True if a step of a sum matches a step of the intrinsic's loop, in either order of operands."""
    stack: list[tuple[Expr, Expr]] = [(r.update, pattern.update)]
    read: list[tuple[str, str]] = []
    while stack:
        e, w = stack.pop()
        if (
            isinstance(w, Load)
            and isinstance(e, Select)
            and e.lazy
            and isinstance(e.other, Const)
            and not e.other.value
        ):
            e = e.then
        if type(e) is not type(w) or e.dtype != w.dtype:
            if not (isinstance(e, Load) and isinstance(w, Load)):
                return False
        if isinstance(e, Load) and isinstance(w, Load):
            if (e.source is r.acc) != (w.source is pattern.acc) or not isinstance(e.source, Buffer):
                return False
            if e.source is not r.acc:
                read.append((e.dtype, w.dtype))
        elif isinstance(e, Binary) and isinstance(w, Binary):
            if e.op != w.op:
                return False
            stack += [(e.a, w.a), (e.b, w.b)]
        elif isinstance(e, Cast) and isinstance(w, Cast):
            stack.append((e.value, w.value))
        else:
            return False
    return sorted(d for d, _ in read) == sorted(d for _, d in read)


@estimate
def _pays(k: Kernel, sums: Mapping[int, Product], constants: set[Buffer], target: VectorTarget) -> bool:
    """True if packing pays for the sums of these stages, which share their words; the first one stands for all."""
    stage, p = next(iter(sums.items()))
    r = k.stages[stage]
    assert isinstance(r, Reduction)
    work = sum(f.work for n, f in enumerate(k.stages) if n in sums and isinstance(f, Reduction))
    if p.a.source is p.b.source or work < p.kind.numbers * target.blocked_updates:
        return False
    if target.lanes(4) < 4 and p.kind.numbers < STEPS:
        return False
    if p.kind is wide_kind() and target.wide_products < p.kind.numbers:
        return False
    # There is no instruction for words of four then, and a single long word is half of what one sums.
    if target.summed_products > 1 and (not p.is_whole(long_kind()) or bound(p.extent) <= long_kind().numbers):
        return False
    only = _apart(r, p)
    if max(only) < 4:
        return False  # neither operand has an axis for vectors
    used = buffers_read(*(f for n, f in enumerate(k.stages) if n not in sums))
    for (e, _), reuse in zip(p.operands, reversed(only)):
        assert isinstance(e.source, Buffer)
        if e.source in constants:
            if e.source in used:
                return False
        elif (r.work // e.source.size if p.is_grouped else reuse) < REUSE:
            return False
    return True


def _of_other_words(form: AnyForm, p: Product, target: VectorTarget, is_narrow: Callable[[], bool]) -> Product:
    """The product in the words that need the fewest instructions: pairs of 16 bits if these beat bytes, unless the weights are
    narrow."""
    if _has_few_words(form, p, target):
        return replace(p, innermost=True)
    of_more = max(target.product_rows, target.summed_products, target.byte_tiles) > 1
    if p.kind.bits == "uint8" and target.wide_products > 1 and not of_more:
        bytes_, pairs_ = (_cost_of_product(kind, target) for kind in (p.kind, wide_kind()))
        if pairs_ < bytes_ or math.isinf(bytes_):
            narrow = target.dot_cost(NARROW) / STEPS < pairs_ and is_narrow()
            return replace(p, narrow=True) if narrow else replace(p, kind=wide_kind())
    return _of_long_words(form, p, target)


def _has_few_words(form: AnyForm, p: Product, target: VectorTarget) -> bool:
    """True if a sum over a window has fewer words than a vector has elements, such as an image of three channels, and the processor has
    matrix tiles.

    With these words innermost, those of a row of the window are contiguous, too, and fill the row of a tile together.
    """
    if not isinstance(form, Reduction) or p.is_grouped or not has_tiles(p.kind, target):
        return False
    along = [[x for x, n in form.inner if n > 1 and x is not p.k and depends(e.indices[-1], x)] for e, _ in p.operands]
    words = -(-p.extent // p.kind.numbers)
    return 1 < words < FEWEST_LANES and bool(along[0]) and along[0] == along[1]


def _is_narrow(k: Kernel, sums: Mapping[int, Product], constants: set[Buffer], calls: Sequence[RunKernel]) -> bool:
    """True if the weights of these sums are constants whose products in pairs fit into 16 bits, and the data can be made
    unsigned."""
    p = next(iter(sums.values()))
    weights = [(e.source, axis) for e, axis in p.operands if e.source in constants]
    data = [e for e, _ in p.operands if e.source not in constants]
    if len(weights) != 1 or weights[0][0].dtype != "int8":
        return False
    if data[0].dtype != "uint8" and _shift(k, sums, constants, "uint8") is None:
        return False
    ((source, axis),) = weights
    slots = (s.inputs[k.inputs.index(source)].resolve() for s in calls)
    return all(fit_in_pairs(slot.data, axis) for slot in dict.fromkeys(slots))


def _cost_of_product(kind: WordKind, target: VectorTarget) -> float:
    """Instructions for each product of words of a kind, for the most expensive of its dot products."""
    return max(target.dot_cost(name) for name in kind.meanings) / kind.numbers


def _of_long_words(form: AnyForm, p: Product, target: VectorTarget) -> Product:
    """The product in words of eight bytes, if an instruction takes more than four numbers.

    Such an instruction multiplies matrices of words, and enough rows and columns of results share one; or it sums several
    contiguous words.
    """
    long = long_kind()
    if target.lanes(4) != 4 or p.kind.bits != long.bits or not isinstance(form, Reduction) or not p.is_whole(long):
        return p
    if target.summed_products > 1 and p.extent > long.numbers:
        return replace(p, kind=long, innermost=True)
    fits = target.product_rows > 1 and p.extent >= long.least and min(_apart(form, p)) >= target.product_rows
    return replace(p, kind=long) if fits else p


def _apart(r: Reduction, p: Product) -> list[int]:
    """For each operand, the number of results that read different elements of it, and the same elements of the other one."""
    return [prod(n for _, n in loops_of_one(r.loops, *pair)) for pair in ((p.a, p.b), (p.b, p.a))]


def _is_transformed(k: Kernel, stage: int, calls: Sequence[RunKernel], target: VectorTarget) -> bool:
    """True if Winograd will transform the stage, and other kernels are around it: the program's inputs and outputs have no
    blocks."""
    c = find_convolution(
        k.stages,
        stage,
        [b for n, b in enumerate(k.inputs) if all(s.inputs[n].resolve().kind == CONSTANT for s in calls)],
    )
    if c is None or not c.weights.finite or c.data.source not in k.inputs:
        return False
    number = k.inputs.index(c.data.source)
    slots = [slot.resolve() for s in calls for slot in (s.inputs[number], *s.outputs)]
    if any(slot.kind != TEMP for slot in slots):
        return False
    speedup = max(target.paired_products, target.pair_tiles // 2)
    return better_transform(c, target, layouts=False, speedup=speedup) is not None


def _replace(
    k: Kernel,
    sums: Mapping[int, Product],
    constants: set[Buffer],
    calls: Sequence[RunKernel],
    rewriter: ProgramRewriter,
    target: VectorTarget,
) -> None:
    """Gives the calls of a kernel one that computes the products from words, and packs its constants."""
    stage, p = next(iter(sums.items()))
    before, params, temporaries = list(k.stages[:stage]), list(k.params), list(k.temporaries)
    moved = _movement(k, sums, constants, target)
    sums_of_weights = Buffer(f"{moved.weights.name}_sums", moved.shape, "int32", moved.weights.scope) if moved else None
    count = -(-p.extent // p.kind.numbers)
    count = count if p.is_grouped else filled_count(p.kind, count, target)
    all_words: list[Buffer] = []
    for e, axis in p.operands:
        source = e.source
        assert isinstance(source, Buffer)
        order = p.order(axis, source.ndim)
        shape = [p.count(e, axis, count) if n == axis else source.shape[n] for n in order]
        if source in constants:
            words = source.replace(shape=shape, dtype=p.kind.dtype)
            params[params.index(source)] = words
            number = k.inputs.index(source)
            for s in calls:
                weights = s.inputs[number].resolve()
                s.inputs[number] = _constant(rewriter, weights, p.kind, axis, order, shape)
                if moved is not None:
                    s.inputs.append(moved.sums(rewriter, weights))
        else:
            words = Buffer(f"{source.name}_words", shape, p.kind.dtype, Scope.GLOBAL)
            rows = words
            # Rows are packed in vectors, and need memory for all words a second time.
            if p.innermost and 1 < shape[-1] < FEWEST_LANES and not target.has_little_memory:
                order = [*order[:-2], axis, order[-2]]
                rows = words.replace(name=f"{source.name}_rows", shape=[*shape[:-2], shape[-1], shape[-2]])
            temporaries += dict.fromkeys((rows, words))
            is_moved = moved is not None and source is not moved.weights
            before.append(_packing(source, rows, axis, order, p, before, [*k.stages[stage:]], is_moved))
            if rows is not words:
                before.append(_interleaved(rows, words))
        all_words.append(words)
    if moved is not None and sums_of_weights is not None and moved.weights not in constants:
        sums_of_weights = sums_of_weights.replace(scope=Scope.GLOBAL)
        temporaries.append(sums_of_weights)
        words_of = {e.source: words for (e, _), words in zip(p.operands, all_words)}
        before.append(moved.added_up(sums_of_weights, words_of[moved.weights]))
    elif sums_of_weights is not None:
        params.insert(len(k.inputs), sums_of_weights)
    after = [
        _of_words(f, sums.get(n), all_words, count, moved, sums_of_weights)
        for n, f in enumerate(k.stages[stage:], stage)
    ]
    used = buffers_read(*before, *after)
    before = [f for f in before if not all(s.buffer in temporaries and s.buffer not in used for s in stores_of(f))]
    stages: list[AnyForm] = [*before, *after]
    changed = k.with_stages(stages, params=params, temporaries=temporaries)
    rewriter.replace(calls, changed)


def _movement(k: Kernel, sums: Mapping[int, Product], constants: set[Buffer], target: VectorTarget) -> Movement | None:
    """The shift of the numbers in words; None if the processor takes them unchanged."""
    p = next(iter(sums.values()))
    if p.kind.numbers != STEPS:
        return None
    return _shift(k, sums, constants, "uint8" if p.narrow else target.first_factor)


def _shift(k: Kernel, sums: Mapping[int, Product], constants: set[Buffer], taken: str) -> Movement | None:
    """The shift of the numbers to a dtype; None if they have it or cannot be shifted."""
    p = next(iter(sums.values()))
    factors = {e.source: e.dtype for e, _ in p.operands if isinstance(e.source, Buffer)}
    forms = [f for n, f in enumerate(k.stages) if n in sums and isinstance(f, Reduction)]
    shift = movement(forms, factors, constants, taken)
    if shift is None or shift.weights in constants:
        return shift
    # A stage adds up whole words, each of which a sum reads under no condition.
    is_plain = not any(e.source is shift.weights for q in sums.values() for e in q.guards)
    return shift if is_plain and not p.is_grouped and not p.innermost else None


def _of_words(
    r: AnyForm,
    p: Product | None,
    words: Sequence[Buffer],
    count: int,
    moved: Movement | None,
    sums_of_weights: Buffer | None,
) -> AnyForm:
    """The sum of products of words, or of `moved` ones with the correction `sums_of_weights`; other stages stay as they are."""
    if p is None or not isinstance(r, Reduction):
        return r
    dtypes = p.dtypes
    if moved is not None and sums_of_weights is not None:
        r = moved.corrected(r, sums_of_weights)
        dtypes = moved.dtype, "int8"
    word = Var(p.k.name)
    index: Expr = word if count != 1 else const(0)
    read: list[Expr] = []
    simplify = simplifier(r.loops, [*r.inner, (word, count)])
    for (e, axis), b in zip(p.operands, words):
        place = p.place(e, axis, index, simplify)
        packed_word: Expr = Load(b, tuple(place if n == axis else e.indices[n] for n in p.order(axis, len(e.indices))))
        unread: Expr = const(0, p.kind.dtype)
        if moved is not None and e.source is not moved.weights:
            unread = moved_word(unread)
        read.append(if_then_else(p.guards[e], packed_word, unread) if e in p.guards else packed_word)
    assert isinstance(r.update, Binary)
    if moved is not None and p.a.source is moved.weights:
        read.reverse()
    dot = words_dot(read[0], read[1], dtypes, True) if p.narrow else p.kind.dot(read[0], read[1], dtypes)
    update = Binary("+", r.update.a, dot, r.acc.dtype)
    inner = tuple(
        x for v, n in r.inner for x in ([(word, count)] if v is p.k else [(v, n)]) if x[1] > 1 or v is not p.k
    )
    if p.innermost:
        inner = tuple(sorted(inner, key=lambda x: x[0] is word))
    return replace(r, inner=inner, update=update)


def _packing(
    source: Buffer,
    words: Buffer,
    axis: int,
    order: Sequence[int],
    p: Product,
    before: list[AnyForm],
    after: Sequence[AnyForm],
    moved: bool = False,
) -> Map:
    """The stage that packs an operand, with its axes in this order, `moved` or unchanged. It computes the operand itself if a stage
    computes it for this purpose alone."""
    loops = [(Var(f"ax{n}"), d) for n, d in enumerate(words.shape) if d != 1]
    named = iter(v for v, _ in loops)
    stored: list[Expr] = [next(named) if d != 1 else const(0) for d in words.shape]
    stored_indices = [stored[order.index(n)] for n in range(source.ndim)]
    producer = _producer(source, before, after)
    simplify = simplifier(loops)

    def number(place: Expr) -> Expr:
        read = Load(source, tuple(place if m == axis else i for m, i in enumerate(stored_indices)))
        return read if producer is None else with_values(read, producer)

    extent = p.extent if not p.is_grouped else source.shape[axis]
    word = p.kind.word(stored_indices[axis], extent, number, simplify)
    return Map(tuple(loops), (Store(words, stored, moved_word(word) if moved else word),))


def _interleaved(rows: Buffer, words: Buffer) -> Map:
    """The words of a few rows next to each other: a vector chooses from one of each row, whose elements are contiguous."""
    loops = [(Var(f"ax{n}"), d) for n, d in enumerate(words.shape)]
    *around, along, word = [v for v, _ in loops]
    *first, value = [Load(rows, (*around, const(n), along)) for n in range(words.shape[-1])]
    chosen: Expr = value
    for n, read in reversed(list(enumerate(first))):
        chosen = Select(word <= n, read, chosen, lazy=False)
    return Map(tuple(loops), (Store(words, (*around, along, word), chosen),))


def _producer(source: Buffer, before: Sequence[AnyForm], after: Sequence[AnyForm]) -> Store | None:
    """The store that makes a buffer, which its only reader can compute itself; None if the buffer must stay in memory."""
    producers = [f for f in before if any(s.buffer is source for s in stores_of(f))]
    if len(producers) != 1 or source in buffers_read(*before) or sum(source in buffers_read(f) for f in after) != 1:
        return None
    (form,) = producers
    return form.stores[0] if isinstance(form, Map) and writes_whole(form) else None


def _constant(
    rewriter: ProgramRewriter, slot: Slot, kind: WordKind, axis: int, order: Sequence[int], shape: Sequence[int]
) -> Slot:
    """The words of a constant, with its axes in this order."""
    place = list(order).index(axis)
    count = shape[place]

    def compute(data: Any) -> Any:
        import numpy as np

        return np.ascontiguousarray(np.moveaxis(kind.pack_data(data, axis, count), axis, place))

    how = ("words", axis, kind.numbers, count, place)
    return rewriter.derive(slot, how, compute, shape, kind.dtype, f"{slot.name}_words")
