"""`rfactor`: a reduction in several accumulators, combined at the end."""

from __future__ import annotations

from dataclasses import replace

from ...diagnostics import UsageError
from ...tir.expr import Binary, Load, Var
from ..block import Block, Factor
from ..forms import Form, Reduction
from .base import primitive

COMBINED = ("+", "*", "min", "max", "minimum", "maximum")
"""Updates whose order may change."""


@primitive
def rfactor(b: Block[Form], loop: Var | str, lanes: int, vectors: int = 1) -> Block[Form]:
    """The steps of a loop of the reduction spread over several vectors of accumulators.

    ::

        for i:                                   for i:
          acc = 0                                  part[v, l] = 0                               (v in vectors, l in lanes)
          for k: acc += x[i, k]    ⇒               for k_o: part[v, l] += x[i, (k_o*vectors + v)*lanes + l]
          out[i] = acc                             acc = 0 + the sum of part; the steps that are left; out[i] = acc

    Several vectors are accumulated at once, so that an addition need not wait for the one before. Sums of floating-point
    numbers are rounded in another order. Raises UsageError for an update whose order matters.
    """
    form = b.form
    v, extent = b.find(loop)
    update = form.update if isinstance(form, Reduction) else None
    if not isinstance(update, Binary) or update.op not in COMBINED or not isinstance(update.a, Load):
        raise UsageError("the steps of this block cannot be made in another order")
    if lanes * vectors > extent or any(v is x for x, _ in b.loops):
        raise UsageError(f"{v.name} is not a loop of the reduction with {lanes * vectors} steps")
    return replace(b, factor=Factor(v, lanes, vectors))
