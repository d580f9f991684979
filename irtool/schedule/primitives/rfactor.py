"""`rfactor`: a reduction in several accumulators, combined at the end."""

from __future__ import annotations

from dataclasses import replace

from ...diagnostics import UsageError
from ...symbolic_int import bound
from ...tir.expr import Binary, Load, Var
from ..core.affine import depends
from ..core.block import Block, Factor
from ..core.forms import Form, Reduction
from ..core.guards import extract_predicates
from ..core.reassociation import COMBINED
from .base import primitive


@primitive
def rfactor(
    b: Block[Form],
    loop: Var | str,
    lanes: int,
    vectors: int = 1,
    along: Var | str | None = None,
    together: int = 1,
) -> Block[Form]:
    """Spreads the steps of a loop of the reduction over several vectors of accumulators.

    ::

        for i:                                   for i:
          acc = 0                                  part[v, l] = 0                               (v in vectors, l in lanes)
          for k: acc += x[i, k]    ⇒               for k_o: part[v, l] += x[i, (k_o*vectors + v)*lanes + l]
          out[i] = acc                             acc = 0 + the sum of part; the steps that are left; out[i] = acc

    Like TVM's and Halide's `rfactor` (Suriana, Adams and Kamil, Parallel Associative Reductions in Halide, 2017). Several vectors
    are accumulated at once, so that an addition need not wait for the one before. Sums of floating-point numbers are rounded in
    another order. The remaining steps are computed in a vector that overlaps the one before. Combining the lanes of one result
    takes longer than a few steps. With `along`, the innermost loop over results, whose extent is the number of lanes, a vector
    for each result is kept; these vectors are transposed and added up. `together` of them are summed in the same steps: a common
    factor is read once, and no addition waits for another one. Raises UsageError for an update whose order matters.
    """
    b.check_placed()
    if b.tile or b.factor is not None:
        raise UsageError("accumulators are fixed already")
    form = b.form
    v, extent = b.find(loop)
    update = extract_predicates(form).update if isinstance(form, Reduction) else None
    if not isinstance(update, Binary) or update.op not in COMBINED or not isinstance(update.a, Load):
        raise UsageError("the steps of this block cannot run in another order")
    if lanes * vectors > bound(extent) or any(v is x for x, _ in b.loops):
        raise UsageError(f"{v.name} is not a loop of the reduction with {lanes * vectors} steps")
    assert isinstance(form, Reduction)
    results_loop = None
    if along is not None:
        results_loop, count = b.find(along)
        if not b.loops or results_loop is not b.loops[-1][0] or count != lanes:
            raise UsageError(f"{results_loop.name} is not the innermost loop over results, of {lanes} steps")
        if form.guards:
            raise UsageError(f"steps of {v.name} depend on conditions")
    if together != 1 and (along is None or vectors != 1 or together < 1 or lanes % together):
        raise UsageError(
            f"{together} results together: they must divide {lanes} results along a loop, with one vector for each"
        )
    taken = b.with_guards()
    others = [k for k, _ in b.inner if k is not v]
    guards = [b.seen()(g) for g in extract_predicates(form).guards]
    if any(depends(g, v) or sum(depends(g, k) for k in others) > 1 for g in guards):
        if form.guards:
            raise UsageError(f"conditions on operands depend on {v.name}, or on several loops")
        taken = b  # the conditions stay in the expressions
    return replace(taken, factor=Factor(v, lanes, vectors, results_loop, together))
