"""Layouts with all channels of a pixel contiguous, for processors that sum the products of contiguous words.

    words[n, h, w, c] = pack8(x[n, 8c, h, w], x[n, 8c + 1, h, w], …)     x with all of its channels innermost: its memory has the words in order
    out[n, o, h, w] = f(Σ words[n, h, w, c] · w[o, c])                   and so have the results, for the next kernel

Other kernels between such sums read and write the same order, with their vectors along the channels.
"""

from __future__ import annotations

from ...symbolic_int import bound, is_known
from ...tir.expr import Var
from ...tir.forms import Map, Reduction
from ...tir.kernel import Kernel
from ...tir.stmt import Buffer
from ..core.affine import depends, loads, moves, operands
from .preference import LayoutPreference
from .vector_axis import along, filled


def beside_words(kernel: Kernel, r: Reduction, constants: frozenset[Buffer]) -> dict[Buffer, LayoutPreference]:
    """The layouts of the data whose words a reduction sums, and of its results, which have one for each row of the weights."""
    read = operands(r)
    weights, data = [e for e in read if e.source in constants], [e for e in read if e.source not in constants]
    if len(weights) != 1 or len(data) != 1:
        return {}
    layouts = _of_packed_data(kernel, data[0].source)
    rows = [v for v, n in r.loops if is_known(n) and bound(n) > 1 and moves(weights[0], v) and not moves(data[0], v)]
    for s in r.stores if len(rows) == 1 else ():
        for b, indices in ((s.buffer, s.indices), *((e.source, e.indices) for e in loads(s.value))):
            axes = [n for n, i in enumerate(indices) if depends(i, rows[0])]
            if len(axes) == 1 and indices[axes[0]] is rows[0] and b.shape == s.buffer.shape:
                layouts.setdefault(b, LayoutPreference(axes[0], b.shape[axes[0]]))
    return layouts


def _of_packed_data(kernel: Kernel, words: Buffer) -> dict[Buffer, LayoutPreference]:
    """The layout of the tensor whose words, innermost, a stage packs."""
    layouts: dict[Buffer, LayoutPreference] = {}
    for form in kernel.stages:
        for s in form.stores if isinstance(form, Map) else ():
            word = s.indices[-1] if s.buffer is words else None
            for e in loads(s.value) if isinstance(word, Var) else ():
                assert isinstance(word, Var)
                axes = [n for n, i in enumerate(e.indices) if depends(i, word)]
                if len(axes) == 1 and is_known(e.source.shape[axes[0]]):
                    layouts[e.source] = LayoutPreference(axes[0], e.source.shape[axes[0]])
    return layouts


def channels_last(
    r: Reduction, v: Var, extent: int, factor: int, constants: frozenset[Buffer]
) -> dict[Buffer, LayoutPreference]:
    """All results along an axis contiguous, as `along` gives them, beside constants in blocks of vectors; empty if that is impossible.

    Constants that have an element for each step of a depthwise window are contiguous too.
    """
    layouts = filled(along(r, v, extent))
    if not layouts:
        return {}
    sources = {e.source for e in operands(r)}
    if sources <= layouts.keys():
        return layouts
    padded = -(-extent // factor) * factor
    return {b: LayoutPreference(w.axis, factor, padded) if b in sources & constants else w for b, w in layouts.items()}
