"""`strassen`: a product of matrices as seven products of halves."""

from __future__ import annotations

from ...diagnostics import UsageError
from ...tir.forms import AnyForm
from ..core.staged import StagedNest
from ..strategies.strassen.choice import tiling_by_hand
from ..strategies.strassen.form import ProductOfHalves
from .base import makes_stages


@makes_stages
def strassen(form: AnyForm, rows: int, columns: int, lanes: int, bands: int = 0, blocks: int = 0) -> StagedNest:
    """A product of matrices as seven products of half the size, in place of eight: sums of the data's quarters times sums of the
    weights'.

    ::

        for i, o:                                  for blocks of rows:
          for k:                                     for pairs of rows, k: sums[p, i, k] = quarters of in, added
            acc += in[i, k] * w[k, o]           ⇒    for blocks of columns:
          out[i, o] = f(acc)                           for p, i, o, k: product[i, p, o] += sums[p, i, k] * weights[p, k, o]
                                                       for pairs of rows, o: result = products, added; out = f(result)

    After Strassen (1969). `rows` pairs of rows are multiplied at a time, for `columns` columns of each half, in vectors of
    `lanes` elements. The sums are on the stack; with `bands` they are in the workspace, for all rows in `bands` steps, and with
    `blocks` in steps of so many blocks, if only the run knows the number of rows. The stages `sums`, `product`, `result` and `out`
    are then scheduled by these names.

    The build adds the weights, for the given `columns`. Raises UsageError for a stage that the algorithm does not support, and
    for rows, columns or bands that do not divide it.
    """
    if not isinstance(form, ProductOfHalves):
        raise UsageError(
            "the stage is no product that strassen supports",
            help="float32, with constant weights and an even number of vectors side by side in data and results; not --math=strict",
        )
    t = tiling_by_hand(form.product, rows, columns, lanes, bands, blocks)
    if t.columns != form.tiling.columns:
        raise UsageError(f"the weights are added for columns={form.tiling.columns}")
    return form.nest(t)
