"""Products of bfloat16 numbers in an attention, packed in words of two along the summed axis (see `tir.bf16_dot`).

    s[i, j] += float32(q[n, i, k]) * float32(keys[n, k, j])         for k in 64

⇒   queries[i, k] = pack2(q[n, i, 2k], q[n, i, 2k + 1])             a tile's rows, on the stack
    s[i, j] += dot2(queries[i, k], keys[n, k, j])                   for k in 32

Copies of keys and values have words in place of numbers. The second product reads exponentials rounded to bfloat16, and its
results are divided by the sums of the rows: exponentials below 1 with eight bits are as exact as quotients with eight bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ....tir.bf16_dot import DTYPE
from ....tir.expr import Binary, Cast, Expr, Load, Var, cast, substitute
from ....tir.forms import Map, Reduction
from ....tir.stmt import Buffer, Store
from ...core.affine import simplifier
from ...instructions.dot_kinds import pair_kind


def words_of(numbers: int, together: int = 1) -> int:
    """The number of words for `numbers` numbers, in whole groups of `together` words."""
    words = -(-numbers // pair_kind().numbers)
    return words if together == 1 else -(-words // together) * together


def filled_with_words(fill: Map, axis: int, words: Buffer, together: int = 1) -> Map:
    """A copy as a copy of words; the axis of number `axis` is the summed one."""
    k = fill.stores[0].indices[axis]
    assert isinstance(k, Var), "copies are filled by loops over their axes"
    return packed_words(fill, k, dict(fill.loops)[k], words, together)


def packed_words(m: Map, k: Var, extent: int, words: Buffer, together: int = 1) -> Map:
    """The words of a map's results, with neighbours along its loop `k`, which is an index by itself. Zeros follow the first
    `extent` numbers, up to a whole group of `together` words."""
    (store,) = m.stores
    word = Var(k.name)
    loops = tuple((word, words_of(n, together)) if v is k else (v, n) for v, n in m.loops)
    simplify = simplifier(loops)

    def number(place: Expr) -> Expr:
        return substitute(_rounded(store.value), {k: place})

    value = pair_kind().word(word, extent, number, simplify)
    return Map(loops, (Store(words, [word if i is k else i for i in store.indices], value),))


def of_words(r: Reduction, read: Callable[[Load, Var], Load], together: int = 1) -> Reduction:
    """A product of bfloat16 numbers as a product of their words, in whole groups of `together`; `read` gives the word of a
    number."""
    (k, depth) = r.inner[0]
    word = Var(k.name)
    u = r.update
    assert isinstance(u, Binary) and isinstance(u.b, Binary)
    a, b = (read(_number(x), word) for x in (u.b.a, u.b.b))
    dot = pair_kind().dot(a, b, (DTYPE, DTYPE))
    return replace(r, inner=((word, words_of(depth, together)),), update=Binary("+", u.a, dot, "float32"))


def _number(factor: Expr) -> Load:
    assert isinstance(factor, Cast) and isinstance(factor.value, Load)
    return factor.value


def _rounded(e: Expr) -> Expr:
    return e if e.dtype == DTYPE else cast(e, DTYPE)
