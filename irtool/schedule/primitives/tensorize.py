"""`tensorize`: the steps of a loop as one intrinsic."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...diagnostics import UsageError, nearest
from ...tir.expr import Binary, Cast, Expr, Var, const, substitute
from ...tir.show import show_expr
from ..core.affine import simplifier
from ..core.block import Block
from ..core.forms import Form, Reduction
from ..instructions.dot_kinds import intrinsics
from ..instructions.tensorize import is_step
from .base import primitive


@primitive
def tensorize(b: Block[Form], loop: Var | str, intrinsic: str) -> Block[Form]:
    """Replaces the steps of a loop of the reduction by one intrinsic, for which processors have an instruction.

    ::

        for i: for k_o in 16: for k_i in 4:                          for i: for k_o in 16:
          acc += int32(x[k_o*4 + k_i]) * int32(w[i, k_o*4 + k_i])  ⇒   acc += dot4_u8s8(pack4(x[k_o*4], …), pack4(w[i, k_o*4], …))

    As in TVM, a loop nest describes an intrinsic (`tir.int8_dot.meaning`, `tir.bf16_dot.meaning`), and a step of the loop has to
    match a step of that nest. Contiguous numbers are read as words. Sums of integers stay the same, bit by bit; `dot2_bf16` adds
    its second product first, so that the last digits may change.

    Raises UsageError for an unknown intrinsic, another number of steps, and steps that do not match.
    """
    b.check_placed()
    b.check_loops_only("tensorize")
    known = intrinsics()
    if intrinsic not in known:
        raise UsageError(f"unknown intrinsic {intrinsic}", help=nearest(intrinsic, list(known)) or ", ".join(known))
    kind = known[intrinsic]
    v, extent = b.find(loop)
    if not isinstance(b.form, Reduction) or not any(v is x for x, _ in b.inner):
        raise UsageError(f"{v.name} is not a loop of the reduction")
    if extent != kind.numbers:
        raise UsageError(f"{intrinsic} takes {kind.numbers} steps, and {v.name} has {extent}", help="split it first")
    whole = b.again()
    r: Any = whole.form
    if r.guards or not is_step(r, kind.meanings[intrinsic]):
        raise UsageError(
            f"a step of {v.name} is not one of {intrinsic}", help=f"it is {show_expr(kind.meanings[intrinsic].update)}"
        )
    read = _operands(r.update)
    simplify = simplifier(r.loops, r.inner)
    words = [kind.word_of([simplify(substitute(e, {v: const(n)})) for n in range(extent)]) for e in read]
    assert isinstance(r.update, Binary)
    update = Binary("+", r.update.a, kind.dot(words[0], words[1], (read[0].dtype, read[1].dtype)), r.acc.dtype)
    inner = tuple(x for x in r.inner if x[0] is not v)
    kinds = {x: how for x, how in whole.kinds.items() if x is not v}
    return replace(whole, form=replace(r, inner=inner, update=update), inner=inner, kinds=kinds, view=None)


def _operands(update: Expr) -> tuple[Expr, Expr]:
    """The two numbers that a step of a sum of products multiplies, before they are widened."""
    assert isinstance(update, Binary) and isinstance(update.b, Binary)
    a, b = update.b.a, update.b.b
    assert isinstance(a, Cast) and isinstance(b, Cast)
    return a.value, b.value
