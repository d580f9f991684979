"""`winograd`: a convolution as products of transformed tiles."""

from __future__ import annotations

from ...diagnostics import UsageError
from ...tir.forms import AnyForm
from ..core.staged import StagedNest
from ..strategies.winograd.form import TransformedTiles
from ..strategies.winograd.plans import tiling_by_hand
from .base import makes_stages


@makes_stages
def winograd(
    form: AnyForm, tile: int, tiles: int, filters: int, lanes: int, bands: int = 0, own: int = 0, blocks: int = 0
) -> StagedNest:
    """A convolution, for example with 3 x 3 windows, as F(tile x tile, 3 x 3): fewer products, of transformed data and
    transformed weights.

    ::

        for o, y, x:                                        for blocks of tiles:
          for c, ky, kx:                                      for the tiles, blocks of channels: data = B^T window B
            acc += in[c, y + ky, x + kx] * w[o, c, ky, kx] ⇒  for blocks of filters:
          out[o, y, x] = f(acc)                                 for p, tiles, o, c: product += data[p, tile, c] * weights[p, c, o]
                                                                for the tiles: result = A^T product A; out = f(result)

    After Winograd (1980) and Lavin & Gray (2015). `tile` results along each axis, 2 or 4, need `tile + window - 1` elements
    (`tile + 2` for a window of 3). Windows have 2 to 5 elements along each axis; those with more than 3 have tiles of 2 results.
    A convolution with a stride is the sum of filters, each of every `stride`-th element. `tiles` tiles are multiplied at a time,
    for `filters` output channels, in vectors of `lanes` channels. Transformed data are on the stack; with `bands` they are in the
    workspace, for all tiles in `bands` steps (or in steps of `blocks` blocks), or with `own=1` on the stack of each thread; the
    threads share the bands, or the output channels if there is one band. In a 3-D convolution, c counts the channels of all slices that are summed. The stages
    `patch` (a window at the border), `half_data`, `data`, `no_data` (zeros for a slice in the padding), `product`, `half_result`,
    `result` and `out` are then scheduled by these names.

    The build transforms the weights, for the given `tile` and `filters`. Raises UsageError for a stage that the algorithm does
    not support, and for tiles, channels or bands that do not divide it.
    """
    if not isinstance(form, TransformedTiles):
        raise UsageError(
            "the stage is no convolution that winograd supports",
            help="windows of 2 to 5 rows and columns, longer than their strides, of float32, with constant weights and contiguous channels; vectors; not --math=strict",
        )
    t = tiling_by_hand(form.convolution, tile, tiles, filters, lanes, bands, own, blocks)
    tiling = form.tiling
    if (t.size, t.filters) != (tiling.size, tiling.filters):
        raise UsageError(f"the weights are transformed for tile={tiling.size} and filters={tiling.filters}")
    return form.nest(t)
