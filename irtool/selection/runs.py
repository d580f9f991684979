"""Loops whose steps multiply contiguous long words: an instruction sums the products of several steps.

    for k in 10: for i in 2 (unrolled): acc[i] += dot8_s8s8(x[k], w[10*i + k])

⇒   for k in 0, 2, … 8: acc[0] += sixteen products of x[k …] and w[k …]; acc[1] += …
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..symbolic_int import is_known
from ..tir.expr import Binary, Call, Const, Expr, Load, Select, Var, const, post_order
from ..tir.int8_dot import LONG_DOTS
from ..tir.simplify import Simplifier
from ..tir.stmt import SERIAL, Buffer, For, Seq, Stmt, Store
from .nests import unroll

WORDS = 2
"""Long words of an instruction: sixteen numbers."""


@dataclass(frozen=True, eq=False)
class Words:
    """The position of words in a buffer; under a condition, without which they are zeros."""

    buffer: Buffer
    first: Expr
    cond: Expr | None


@dataclass(frozen=True, eq=False)
class Sum:
    """A sum that a step adds to: the position of the result, the dot product, and its words."""

    result: Store
    dot: str
    words: tuple[Words, Words]


@dataclass(frozen=True, eq=False)
class Run:
    """The sums of a loop over `var`, which has `extent` steps."""

    var: Var
    extent: int
    sums: tuple[Sum, ...]

    @property
    def whole(self) -> int:
        """Steps that instructions execute together."""
        return self.extent // WORDS * WORDS


def find_run(s: For, simplify: Simplifier) -> Run | None:
    """The loop as such sums; None for other loops."""
    if (
        s.kind != SERIAL
        or not isinstance(s.extent, Const)
        or not is_known(s.extent.int_value)
        or s.extent.value < WORDS
        or not _has_long_words(s)
    ):
        return None
    body = unroll(s.body, simplify)
    sums = [_sum(x, s.var, simplify) for x in (body.stmts if isinstance(body, Seq) else (body,))]
    valid_sums = tuple(x for x in sums if x is not None)
    return Run(s.var, s.extent.int_value, valid_sums) if len(valid_sums) == len(sums) else None


def last_step(run: Run, simplify: Simplifier) -> tuple[Sum, ...]:
    """The sums of the last step, for an odd number of steps."""
    last: dict[Expr, Expr] = {run.var: const(run.extent - 1, run.var.dtype)}

    def advanced(w: Words) -> Words:
        return Words(w.buffer, simplify.at(w.first, dict(last)), w.cond)

    return tuple(Sum(x.result, x.dot, (advanced(x.words[0]), advanced(x.words[1]))) for x in run.sums)


def _has_long_words(s: Stmt) -> bool:
    """True for a nest of unrolled loops, or none, around dot products of long words."""
    while isinstance(s, For):
        s = s.body
    if isinstance(s, Seq):
        return bool(s.stmts) and _has_long_words(s.stmts[0])
    return isinstance(s, Store) and long_dot(s) is not None


def long_dot(s: Store) -> Call | None:
    """The dot product of long words that a store adds to its element; None for other stores."""
    value = s.value
    added = value.b if isinstance(value, Binary) and value.op == "+" else None
    return added if isinstance(added, Call) and added.name in LONG_DOTS else None


def _sum(s: Stmt, k: Var, simplify: Simplifier) -> Sum | None:
    dot = long_dot(s) if isinstance(s, Store) else None
    if not isinstance(s, Store) or dot is None or any(x is k for i in s.indices for x in post_order(i)):
        return None
    assert isinstance(s.value, Binary)
    old = s.value.a
    if not isinstance(old, Load) or old.source is not s.buffer or not _same(old.indices, s.indices):
        return None
    words = [_words(e, k, simplify) for e in dot.args]
    if words[0] is None or words[1] is None or s.buffer in (words[0].buffer, words[1].buffer):
        return None
    return Sum(s, dot.name, (words[0], words[1]))


def _words(e: Expr, k: Var, simplify: Simplifier) -> Words | None:
    """Words that are contiguous along the steps of a loop; None for others."""
    cond = None
    if isinstance(e, Select) and e.lazy and isinstance(e.other, Const) and not e.other.value:
        cond, e = e.cond, e.then
    if not isinstance(e, Load) or not isinstance(e.source, Buffer) or len(e.indices) != 1:
        return None
    terms, _ = simplify.linear(e.indices[0])
    others = [x for x in (*terms, *([] if cond is None else [cond])) if x is not k]
    if terms.get(k) != 1 or any(y is k for x in others for y in post_order(x)):
        return None
    return Words(e.source, e.indices[0], cond)


def _same(a: Sequence[Expr], b: Sequence[Expr]) -> bool:
    return len(a) == len(b) and all(
        x is y or (isinstance(x, Const) and isinstance(y, Const) and x.value == y.value) for x, y in zip(a, b)
    )
