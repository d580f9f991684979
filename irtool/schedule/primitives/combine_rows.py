"""`combine_rows`: a reduction of windows along rows, then along columns."""

from __future__ import annotations

from ...diagnostics import UsageError
from ...tir.forms import AnyForm
from ...tir.memory import KERNEL_SCRATCH
from ...tir.stmt import Allocate, pre_order
from ..core.staged import StagedNest
from ..windows.separable import find_windows
from .base import makes_stages


@makes_stages
def combine_rows(form: AnyForm, height: int = 1, lanes: int = 1, shared: int = 0) -> StagedNest:
    """A sum or an extreme of windows in two steps: first their rows, for every column, into an intermediate result; then the columns.

    ::

        for y, x: for ky, kx: acc = max(acc, in[2*y + ky, 2*x + kx])

        ⇒    for band:
               rows:     for y in band, col: for ky: rows[y, col] = max(rows[y, col], in[2*y + ky, col])
               columns:  for y in band, x:   for kx: acc = max(acc, rows[y, 2*x + kx])

    Overlapping windows share the results of a column, as in separable filters; TVM's `rfactor` turns a loop of a reduction into
    such an intermediate result too. Sums of floating-point numbers are rounded in another order. A band has `height` rows of
    results; the last one may have fewer. If an image has a few contiguous channels, a column has all of them. Rows of the
    intermediate result are full vectors of `lanes` elements; the stages `before` and `after` fill the elements that windows read
    beyond the operand with the initial value of the reduction. `shared`: 1 if threads share the outermost loop around.

    Raises UsageError unless the stage reads one operand, in windows with rows and columns, and for bands of more rows than the
    result has.
    """
    windows = find_windows(form)
    if windows is None:
        raise UsageError("the stage reduces no windows with rows and columns")
    if not 0 < height <= windows.row[1] or lanes < 1:
        raise UsageError(f"a band has 1 to {windows.row[1]} rows, in vectors of at least 1 element")
    nest = windows.nest(height, lanes, bool(shared))
    for s in pre_order(nest.body):
        if isinstance(s, Allocate) and s.buffer.nbytes > KERNEL_SCRATCH:
            raise UsageError(f"{s.buffer.name} would take {s.buffer.nbytes} bytes of the stack", help="height=1")
    return nest
