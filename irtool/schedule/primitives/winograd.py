"""`winograd`: a convolution by transformed tiles."""

from __future__ import annotations

from ...diagnostics import UsageError
from ...tir.forms import AnyForm
from ..core.staged import StagedNest
from ..strategies.winograd.form import TransformedTiles
from ..strategies.winograd.plans import tiling_by_hand
from .base import makes_stages


@makes_stages
def winograd(
    form: AnyForm, tile: int, tiles: int, filters: int, lanes: int, bands: int = 0, own: int = 0
) -> StagedNest:
    """A convolution, say with 3 x 3 windows, as F(tile x tile, 3 x 3): fewer products, of transformed data and transformed weights.

    ::

        for o, y, x:                                        for blocks of tiles:
          for c, ky, kx:                                      for the tiles, blocks of channels: data = B^T window B
            acc += in[c, y + ky, x + kx] * w[o, c, ky, kx] ⇒  for blocks of filters:
          out[o, y, x] = f(acc)                                 for p, tiles, o, c: product += data[p, tile, c] * weights[p, c, o]
                                                                for the tiles: result = A^T product A; out = f(result)

    After Winograd (1980) and Lavin & Gray (2015). `tile` results along each axis, 2 or 4, are made of a window of `tile + 2`
    elements, or one less than `tile` and the window have together. Windows have 2 to 5 elements along each axis; those with more than
    3 have tiles of 2 results. With a stride, every `stride`-th element makes a filter of its own, of which there are sums. `tiles` are
    multiplied at a time, for so many output channels (`filters`), in vectors of `lanes` channels. What is transformed is on the stack;
    with `bands` it is in the workspace, for all tiles in so many steps, or with `own=1` on the stack of each thread, which
    share the bands, or the output channels if there is one band. Of a 3-D convolution, c stands for the channels of all
    slices that are summed. The stages `patch` (a window at the border), `half_data`, `data`, `no_data` (zeros for a slice in
    the padding), `product`, `half_result`, `result` and `out` are then scheduled by these names.

    The weights are transformed when the program is built, for the tiles and filters that stand here. Raises UsageError for a stage
    that cannot be computed so, and for tiles, channels or bands that it cannot be divided into.
    """
    if not isinstance(form, TransformedTiles):
        raise UsageError(
            "the stage is no convolution that winograd is for",
            help="windows of 2 to 5 rows and columns, longer than their strides, of float32, with constant weights and channels side by side; vectors; not --math=strict",
        )
    t = tiling_by_hand(form.convolution, tile, tiles, filters, lanes, bands, own)
    tiling = form.tiling
    if (t.size, t.filters) != (tiling.size, tiling.filters):
        raise UsageError(f"the weights are transformed for tile={tiling.size} and filters={tiling.filters}")
    return form.nest(t)
