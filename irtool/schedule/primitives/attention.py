"""`attention`: a softmax of products, and a product with it, for some rows at a time."""

from __future__ import annotations

from ...diagnostics import UsageError
from ...tir.forms import AnyForm
from ..core.staged import StagedNest
from ..strategies.attention.form import Attention
from ..strategies.attention.tiled import NotRows
from ..strategies.attention.tiling import tiling_by_hand
from .base import makes_stages


@makes_stages
def attention(
    form: AnyForm, rows: int, keys: int, lanes: int, parts: int = 0, values: int = 0, words: int = 1
) -> StagedNest:
    """A product, the softmax of its rows, and a product with that, for a tile of rows at a time.

    ::

        for n, i, j: s[n, i, j] = q[n, i, :] · k[n, :, j]        for n: for tiles of rows:
        for n, i, j: p[n, i, j] = exp(s[n, i, j] - max) / sum  ⇒   for panels of keys: for i, j: s[i, j] = q[n, i, :] · k[n, :, j]
        for n, i, d: out[n, i, d] = p[n, i, :] · v[n, :, d]        for i: m = max(s[i, :]); s[i, :] = exp(s[i, :] - m); t[i] = sum
                                                                   for i, d: out[n, i, d] = (s[i, :] · v[n, :, d]) / t[i]

    After Dao et al. (2022, FlashAttention), with full rows, so that no result is corrected later. A tile has `rows` queries;
    `keys` columns of its scores are computed for all of them before the next columns, in vectors of `lanes`. The scores of a tile
    are on the stack; with `parts` they are in the workspace, once for each of `parts` groups of products, which threads share.
    Copies of values are in panels of `values` columns. Sums of bfloat16 numbers are padded to a multiple of `words` words. The stages are then scheduled by name: `keys` and `values` (copies of
    operands that are not in the order of vectors), `scores`, `out`, and the stages between, whose names say what they compute;
    the rows after the last full tile have stages `…_at_end`.

    Raises UsageError for a stage that is no attention, and for rows, keys or parts that do not divide it.
    """
    if not isinstance(form, Attention):
        raise UsageError("the stage is no attention: two products, with a softmax between that nothing else reads")
    tiling = tiling_by_hand(form.chain, rows, keys, lanes, parts, values, words)
    try:
        return form.nest(tiling)
    except NotRows:
        raise UsageError(f"a stage between the products cannot be computed in tiles of {rows} rows") from None
