"""Propagation of layouts from operands to results, and the effect on readers."""

from __future__ import annotations

from ...tir.bf16_dot import PACK_PAIR
from ...tir.expr import Call, Load, Select, Var
from ...tir.forms import Map, Reduction
from ...tir.kernel import Kernel
from ...tir.simplify import Simplifier
from ...tir.stmt import Buffer, Store
from ...tir.vector_target import VectorTarget
from ...tir.word_functions import PACKS
from ..core.affine import depends, loads, operands
from ..instructions.signedness_shift import as_it_was
from .preference import LayoutPreference, reorders

_NUMBERS = {name: f.operands for name, f in PACKS.items()}
"""Numbers in a word, by the intrinsic that packs it."""


def propagate(kernel: Kernel, layouts: dict[Buffer, LayoutPreference]) -> dict[Buffer, LayoutPreference]:
    """The layouts of results and inner buffers that follow from those of the operands: an elementwise stage gives its result the
    blocks that an operand has along the same loop."""
    preferences = dict(layouts)
    for form in kernel.stages:
        if not isinstance(form, Map | Reduction):
            continue
        value = [x.value for x in form.stores] + ([form.update] if isinstance(form, Reduction) else [])
        for store in form.stores:
            if store.buffer in preferences or not store.buffer.shape:
                continue
            for e in loads(*value):
                preference = preferences.get(e.source)
                if preference is None:
                    continue
                v = e.indices[preference.axis]
                same = [n for n, i in enumerate(store.indices) if i is v and isinstance(v, Var)]
                if same and store.buffer.shape[same[0]] % preference.factor == 0:
                    preferences[store.buffer] = LayoutPreference(same[0], preference.factor)
                    break
                joined = _shifted_axis(e, preference, store.indices, store.buffer) or _word_axis(e, preference, store)
                if joined is not None:
                    preferences[store.buffer] = joined
                    break
    return preferences


def _shifted_axis(e: Load, preference: LayoutPreference, indices: tuple, buffer: Buffer) -> LayoutPreference | None:
    """The axis of the result that the blocked axis of an operand becomes with an offset (concatenation)."""
    terms, offset = Simplifier().linear(e.indices[preference.axis])
    if len(terms) != 1 or offset % preference.factor:
        return None
    (v, k), *_ = terms.items()
    axes = [n for n, i in enumerate(indices) if i is v]
    if k != 1 or len(axes) != 1 or buffer.shape[axes[0]] % preference.factor:
        return None
    return LayoutPreference(axes[0], preference.factor)


def _word_axis(e: Load, preference: LayoutPreference, store: Store) -> LayoutPreference | None:
    """The axis of the words into which an operand is packed along its blocks."""
    value = as_it_was(store.value)
    value = value.then if isinstance(value, Select) else value
    steps = _NUMBERS.get(value.name, 0) if isinstance(value, Call) else 0
    if not steps or preference.factor % steps or preference.factor < 2 * steps:
        return None
    factor = preference.factor // steps
    terms, _ = Simplifier().linear(e.indices[preference.axis])
    axes = [n for n, i in enumerate(store.indices) if len(terms) == 1 and terms.get(i) == steps]
    return LayoutPreference(axes[0], factor) if axes and store.buffer.shape[axes[0]] % factor == 0 else None


def spreads(kernel: Kernel, b: Buffer, preference: LayoutPreference, preferred: dict[Buffer, LayoutPreference]) -> bool:
    """True if blocks of an operand leave a reduction without a vector axis, and its results are not in such blocks.

    That is so if neighbouring elements in a block belong to several results, such as the channels of groups narrower than the
    block, and no other operand has a vector axis: only in row-major order are the results of a row contiguous.
    """
    after = propagate(kernel, {b: preference, **preferred})
    for r in kernel.stages:
        if not isinstance(r, Reduction) or any(s.buffer in after for s in r.stores):
            continue
        for e in operands(r):
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
    """True if blocks along another axis than that of words would separate the words of a sum, which are contiguous in a row of a
    matrix tile."""
    for form in kernel.stages:
        for s in form.stores if isinstance(form, Map) else ():
            value = s.value.then if isinstance(s.value, Select) else s.value
            if not isinstance(value, Call) or value.name not in _NUMBERS:
                continue
            if (target.pair_tiles if value.name == PACK_PAIR else target.byte_tiles) < 2:
                continue
            indices = [e.indices[preference.axis] for e in loads(value) if e.source is b]
            if len(indices) > 1 and all(i is indices[0] for i in indices):
                return True
    return False
