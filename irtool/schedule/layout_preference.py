"""Which layouts a kernel would like its operands to have.

A reduction is fastest when its vector axis is contiguous in every operand that moves with it: a convolution's output
channels in its weights and its result, a matrix product's columns in its second matrix. Blocks of as many elements as a
vector has lanes make it so.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ..tir import dtypes
from ..tir.expr import Binary, Call, Const, Expr, Load, Select, Var, const, post_order, substitute
from ..tir.forms import Map, Reduction
from ..tir.kernel import Kernel
from ..tir.pairs import DTYPE, NUMBERS, PACK_PAIR
from ..tir.simplify import Simplifier
from ..tir.stmt import Buffer, Store
from ..tir.vector_target import VectorTarget
from ..tir.wide_pairs import PACK_WIDE
from ..tir.words import PACKS
from .affine import depends, loads
from .moved_bytes import as_it_was
from .tile_choice import rows_together, sums_long_words
from .tiles import is_avx2

_NUMBERS = {**PACKS, PACK_PAIR: NUMBERS, PACK_WIDE: NUMBERS}
"""Numbers in a word, by what makes one."""

_TILE_ROW = 64
"""Bytes in a row of a matrix tile."""


_MANY = 24
"""Vectors of which so few are left over, where blocks do not divide them, that it does not count."""


@dataclass(frozen=True)
class LayoutPreference:
    """Blocks of `factor` along `axis` of a parameter's buffer. `padded`: so long is the axis made with zeros, where it is
    no multiple of the factor (of constants only; 0: it is)."""

    axis: int
    factor: int
    padded: int = 0


def reorders(b: Buffer, preference: LayoutPreference) -> bool:
    """False where the blocks lie as row-major order has them: the axis is the last that has more than one step."""
    return bool(preference.padded) or prod(b.shape[preference.axis + 1 :]) > 1


def layout_preferences(
    kernel: Kernel,
    target: VectorTarget,
    constants: frozenset[Buffer],
    scaled: frozenset[Buffer] = frozenset(),
) -> dict[Buffer, LayoutPreference]:
    """The layouts that the kernel's largest reduction prefers for the buffers that it touches; `constants` are those that can be packed
    when the program is built, `scaled` those that are made of such constants, element by element."""
    forms = [f for f in kernel.stages if isinstance(f, Reduction)]
    if not forms:
        return {}
    r = max(forms, key=lambda f: f.work)
    if r.work < target.blocked_updates or r.acc.dtype not in ("float32", "int32"):
        return {}
    if sums_long_words(r, target):
        return {}
    full = target.lanes(dtypes.itemsize(r.acc.dtype)) * rows_together(r, target)
    if _sums_rows(r, 2 * full):
        return {}
    best: tuple[tuple[int, ...], dict[Buffer, LayoutPreference]] | None = None
    for v, extent in r.loops:
        factor = full
        made = None
        while made is None and factor >= 4:
            made = _filled(_along(r, v, factor)) if extent % factor == 0 else None
            factor = factor if made is not None else factor // 2
        ends = all(s.indices and s.indices[-1] is v for s in r.stores)
        if extent >= full and (made is None or factor * 2 < full or (factor < full and ends)):
            filled = _padded(r, v, extent, full, constants)
            made, factor = (filled, 1) if filled else (made, factor)
        halves = factor * 2 == full and extent >= 2 * full
        single = factor == full and extent % full == 0 and _are_single(extent // full, target)
        if made is not None and (halves or single) and not ends:
            wide = _whole_axis(r, v, extent, full, constants)
            made, factor = (wide, full) if wide else (made, factor)
        if made is None:
            continue
        if factor == full and extent % full == 0:
            made = _with_wide_blocks(r, v, extent, made, full, constants | scaled, target)
        independent = sum(1 for e in _operands(r) if not any(_moves(i, v, max(factor, 4)) for i in e.indices))
        if not independent and _is_product(r, v, target.copied_steps):
            continue
        if (
            factor > 1
            and factor * 2 < full
            and (extent >= full or not independent)
            and not _has_narrow_groups(r, v, factor)
        ):
            continue  # whole vectors along another axis, or with a tail, are better than quarters of vectors
        packed = sum(1 for b in made if b in constants or b in scaled)
        last = sum(1 for s in r.stores if s.indices and s.indices[-1] is v)
        rank = (packed, min(independent, 1), last, factor)
        if best is None or rank > best[0]:
            best = (rank, made)
    # Parts of vectors that no constant is packed for, such as a few images, come after vectors along a summed axis.
    is_weak = best is None or (not best[0][0] and best[0][-1] * 2 < full)
    summed = _summed(r, full, constants) if is_weak else {}
    made = summed or (best[1] if best is not None else {})
    return made | {b: w for f in forms if f is not r for b, w in _alike(f, r, made, constants).items()}


def constants_along(
    kernel: Kernel, layouts: dict[Buffer, LayoutPreference], constants: frozenset[Buffer]
) -> dict[Buffer, LayoutPreference]:
    """The constants of the kernel's largest reduction in blocks along the axis along which its result is in blocks, for these layouts of
    its operands: the weights of a depthwise convolution whose data come in blocks of half a vector, which it would not ask for itself.
    Where its result is in none, along the axis that is summed."""
    forms = [f for f in kernel.stages if isinstance(f, Reduction)]
    if not forms:
        return {}
    r = max(forms, key=lambda f: f.work)
    after = propagate(kernel, layouts)
    for s in r.stores:
        wanted = after.get(s.buffer)
        v = s.indices[wanted.axis] if wanted is not None else None
        if wanted is not None and isinstance(v, Var):
            made = _filled(_along(r, v, wanted.factor)) or {}
            return {b: w for b, w in made.items() if b in constants}
    return _along_sum(r, layouts, constants)


def _along_sum(
    r: Reduction, layouts: dict[Buffer, LayoutPreference], constants: frozenset[Buffer]
) -> dict[Buffer, LayoutPreference]:
    """The constants of a reduction in the blocks that another operand has along an axis that is summed."""
    operands, summed = _operands(r), {v for v, _ in r.inner}
    for e in operands:
        wanted = layouts.get(e.source)
        v = e.indices[wanted.axis] if wanted is not None else None
        if wanted is not None and isinstance(v, Var) and v in summed:
            places = {o.source: [n for n, i in enumerate(o.indices) if depends(i, v)] for o in operands}
            return {
                o.source: LayoutPreference(places[o.source][0], wanted.factor)
                for o in operands
                if o.source in constants and len(places[o.source]) == 1 and o.indices[places[o.source][0]] is v
            }
    return {}


def _alike(
    other: Reduction, r: Reduction, made: dict[Buffer, LayoutPreference], constants: frozenset[Buffer]
) -> dict[Buffer, LayoutPreference]:
    """The preferences for constants of a reduction that reads them as another one reads its own, such as the next phase of a strided
    transposed convolution."""
    ours, theirs = _operands(r), _operands(other)
    found: dict[Buffer, LayoutPreference] = {}
    for a, b in zip(ours, theirs) if len(ours) == len(theirs) else ():
        wanted = made.get(a.source)
        if a.source is b.source:
            continue
        if wanted is None or not {a.source, b.source} <= constants or b.source in made:
            return {}
        if len(a.indices) != len(b.indices) or a.source.shape[wanted.axis] != b.source.shape[wanted.axis]:
            return {}
        found[b.source] = wanted
    return found


def _has_narrow_groups(r: Reduction, v: Var, factor: int) -> bool:
    """True if results of a group along the axis are just so many: those of another group read others."""
    return (
        isinstance(r.update, Binary)
        and isinstance(r.update.b, Call)
        and any(
            isinstance(e, Binary) and e.op == "floordiv" and e.a is v and isinstance(e.b, Const) and e.b.value == factor
            for x in _operands(r)
            for e in post_order(*x.indices)
        )
    )


def _is_product(r: Reduction, v: Var, least: int) -> bool:
    """True if every operand is read again for `least` steps of another loop than `v`, as in a product of matrices: of products beside
    each other in blocks, each multiplication needs its own numbers, which is worse than a copy of one matrix."""
    others = [x for x, n in r.loops if x is not v and n >= least]
    operands = _operands(r)
    return len(operands) > 1 and all(any(not any(depends(i, x) for i in e.indices) for x in others) for e in operands)


def _filled(preferences: dict[Buffer, LayoutPreference] | None) -> dict[Buffer, LayoutPreference] | None:
    """The preferences, None where a buffer ends within a block: a kernel may read less of it than its loop has steps."""
    if preferences is not None and any(b.shape[w.axis] % w.factor for b, w in preferences.items()):
        return None
    return preferences


def _padded(
    r: Reduction, v: Var, extent: int, factor: int, constants: frozenset[Buffer]
) -> dict[Buffer, LayoutPreference]:
    """Constants alone in blocks, the last of which is filled up with zeros; only the results that exist are stored."""
    made = _along(r, v, factor) or {}
    moving = {e.source for e in _operands(r) if e.source in made}
    if not moving or not moving <= constants:
        return {}
    return {b: LayoutPreference(made[b].axis, factor, -(-extent // factor) * factor) for b in made if b in moving}


def _are_single(vectors: int, target: VectorTarget) -> bool:
    """True if blocks of so many vectors in sum have one vector each, and tiles that read a single vector for each broadcast value are
    slow: AVX2 makes two multiply-adds a cycle, and each of them would need a read."""
    return is_avx2(target) and vectors >= _MANY and all(vectors % n for n in (2, 3))


def _whole_axis(
    r: Reduction, v: Var, extent: int, factor: int, constants: frozenset[Buffer]
) -> dict[Buffer, LayoutPreference]:
    """All results along an axis beside each other, so that they are whole vectors and a tail, where blocks would be halves of
    vectors, or single ones: the pixels of 1x1 and of depthwise convolutions with 728 channels. Constants that results share are in
    blocks, the last of which is filled up with zeros. None for other windows: transforms and blocks of their steps work on blocks of data."""
    made = _filled(_along(r, v, extent))
    sources = {e.source for e in _operands(r)}
    packed = sources & constants
    if not made or not packed:
        return {}
    if sources <= made.keys():
        return made
    if sum(1 for _, n in r.inner if n > 1) > 1:
        return {}
    return {
        b: LayoutPreference(w.axis, factor, -(-extent // factor) * factor) if b in packed else w
        for b, w in made.items()
    }


def _with_wide_blocks(
    r: Reduction,
    v: Var,
    extent: int,
    made: dict[Buffer, LayoutPreference],
    factor: int,
    weights: frozenset[Buffer],
    target: VectorTarget,
) -> dict[Buffer, LayoutPreference]:
    """The preferences with wider blocks of what is no weight, where results are read by matrix tiles: a row of a tile is as many bytes."""
    dtypes_stored = {s.buffer.dtype for s in r.stores}
    bytes_tiled = target.byte_tiles > 1 and bool(dtypes_stored & {"int8", "uint8"})
    pairs_tiled = target.pair_tiles > 1 and DTYPE in dtypes_stored
    most = _TILE_ROW if bytes_tiled else _TILE_ROW // 2 if pairs_tiled else 0
    wide = next((n for n in range(most // factor * factor, factor, -factor) if extent % n == 0), 0)
    found = _filled(_along(r, v, wide)) if wide else None
    return (
        {b: made[b] if b in weights else w for b, w in found.items()} if found and found.keys() == made.keys() else made
    )


def _summed(r: Reduction, factor: int, constants: frozenset[Buffer]) -> dict[Buffer, LayoutPreference]:
    """Blocks along a summed axis, where there are too few results beside each other for a vector: an image of three channels
    made from many. The whole axis is one where vectors do not divide it."""
    for v, extent in r.inner:
        block = factor if extent % factor == 0 else extent
        found: dict[Buffer, LayoutPreference] = {}
        for e in _operands(r):
            moving = [n for n, i in enumerate(e.indices) if depends(i, v)]
            if len(moving) == 1 and e.indices[moving[0]] is v:
                found[e.source] = LayoutPreference(moving[0], block)
            elif moving:
                found = {}
                break
        if block * 2 >= factor and len(found) > 1 and any(b in constants for b in found):
            return found
    return {}


def is_elementwise(kernel: Kernel) -> bool:
    """True if all the kernel does is compute elements by a formula."""
    return all(isinstance(form, Map) for form in kernel.stages)


def _sums_rows(r: Reduction, least: int) -> bool:
    """True if one operand is summed along its last axis, which is contiguous as it is."""
    operands = _operands(r)
    long = {v for v, n in r.inner if n >= least}
    return len(operands) == 1 and bool(operands[0].indices) and operands[0].indices[-1] in long


def _operands(r: Reduction) -> list[Load]:
    return [e for e in loads(r.update) if e.source is not r.acc]


def _along(r: Reduction, v: Var, factor: int) -> dict[Buffer, LayoutPreference] | None:
    """The preferences that make `v` the vector axis; None where it cannot be."""
    found: dict[Buffer, LayoutPreference] = {}
    for e in _operands(r):
        moving = [n for n, i in enumerate(e.indices) if _moves(i, v, factor)]
        if not moving:
            continue
        if len(moving) > 1 or e.indices[moving[0]] is not v:
            return None
        found[e.source] = LayoutPreference(moving[0], factor)
    if not found:
        return None
    for s in r.stores:
        moving = [n for n, i in enumerate(s.indices) if depends(i, v)]
        if len(moving) != 1 or s.indices[moving[0]] is not v:
            return None
        found[s.buffer] = LayoutPreference(moving[0], factor)
        for e in loads(s.value):
            at = [n for n, i in enumerate(e.indices) if i is v]
            if e.source is not r.acc and len(at) == 1 and e.source.shape == s.buffer.shape:
                found.setdefault(e.source, LayoutPreference(at[0], factor))
    return found


def _moves(index: Expr, v: Var, factor: int) -> bool:
    """True if the index changes within a block of `v` (not so for the number of the group that a block is in)."""
    whole: dict[Expr, Expr] = {
        e: const(0)
        for e in post_order(index)
        if isinstance(e, Binary)
        and e.op == "floordiv"
        and e.a is v
        and isinstance(e.b, Const)
        and e.b.value % factor == 0
    }
    return depends(substitute(index, whole), v)


def propagate(kernel: Kernel, layouts: dict[Buffer, LayoutPreference]) -> dict[Buffer, LayoutPreference]:
    """Layouts of the results and inner buffers that follow from those of the operands: an element-by-element stage gives
    its result the blocks that an operand has along the same loop."""
    found = dict(layouts)
    for form in kernel.stages:
        if not isinstance(form, Map | Reduction):
            continue
        value = [x.value for x in form.stores] + ([form.update] if isinstance(form, Reduction) else [])
        for store in form.stores:
            if store.buffer in found or not store.buffer.shape:
                continue
            for e in loads(*value):
                preference = found.get(e.source)
                if preference is None:
                    continue
                v = e.indices[preference.axis]
                same = [n for n, i in enumerate(store.indices) if i is v and isinstance(v, Var)]
                if same and store.buffer.shape[same[0]] % preference.factor == 0:
                    found[store.buffer] = LayoutPreference(same[0], preference.factor)
                    break
                joined = _shifted_axis(e, preference, store.indices, store.buffer) or _word_axis(e, preference, store)
                if joined is not None:
                    found[store.buffer] = joined
                    break
    return found


def spreads(kernel: Kernel, b: Buffer, preference: LayoutPreference, preferred: dict[Buffer, LayoutPreference]) -> bool:
    """True if blocks of an operand leave a reduction no vector axis, where its results do not lie in such blocks themselves.

    That is so where elements beside each other in a block belong to several results, as the channels of groups narrower than
    the block, and where no other operand has a vector axis: only in row-major order are the results of a row beside each other.
    """
    after = propagate(kernel, {b: preference, **preferred})
    for r in kernel.stages:
        if not isinstance(r, Reduction) or any(s.buffer in after for s in r.stores):
            continue
        for e in _operands(r):
            blocks = after.get(e.source)
            if blocks is None or e.source in preferred or not reorders(e.source, blocks):
                continue
            index = e.indices[blocks.axis]
            terms, _ = Simplifier().linear(index)
            if any(n % blocks.factor and any(depends(atom, v) for v, _ in r.loops) for atom, n in terms.items()):
                return True
            if not preferred and any(e.indices[-1] is v for v, _ in r.loops):
                return True
    return False


def parts_tiles(kernel: Kernel, b: Buffer, preference: LayoutPreference, target: VectorTarget) -> bool:
    """True if blocks along another axis than that of words would part the words of a sum, which a row of a matrix tile has side by side."""
    for form in kernel.stages:
        for s in form.stores if isinstance(form, Map) else ():
            value = s.value.then if isinstance(s.value, Select) else s.value
            if not isinstance(value, Call) or value.name not in _NUMBERS:
                continue
            if (target.pair_tiles if value.name == PACK_PAIR else target.byte_tiles) < 2:
                continue
            at = [e.indices[preference.axis] for e in loads(value) if e.source is b]
            if len(at) > 1 and all(i is at[0] for i in at):
                return True
    return False


def _word_axis(e: Load, preference: LayoutPreference, store: Store) -> LayoutPreference | None:
    """The axis of the words that an operand is packed into along its blocks."""
    value = as_it_was(store.value)
    value = value.then if isinstance(value, Select) else value
    steps = _NUMBERS.get(value.name, 0) if isinstance(value, Call) else 0
    if not steps or preference.factor % steps or preference.factor < 2 * steps:
        return None
    factor = preference.factor // steps
    terms, _ = Simplifier().linear(e.indices[preference.axis])
    at = [n for n, i in enumerate(store.indices) if len(terms) == 1 and terms.get(i) == steps]
    return LayoutPreference(at[0], factor) if at and store.buffer.shape[at[0]] % factor == 0 else None


def _shifted_axis(e: Load, preference: LayoutPreference, indices: tuple, buffer: Buffer) -> LayoutPreference | None:
    """The axis of the result that the blocked axis of an operand goes to with an offset (concatenation)."""
    terms, offset = Simplifier().linear(e.indices[preference.axis])
    if len(terms) != 1 or offset % preference.factor:
        return None
    (v, k), *_ = terms.items()
    at = [n for n, i in enumerate(indices) if i is v]
    if k != 1 or len(at) != 1 or buffer.shape[at[0]] % preference.factor:
        return None
    return LayoutPreference(at[0], preference.factor)
