"""Products of small matrices of bytes, and the reordering of their results to rows, as C text.

`mmla` multiplies two rows of eight bytes by two columns of eight, and adds the four sums to an accumulator: `row0·col0, row0·col1,
row1·col0, row1·col1`. Without an instruction it is two dot products of words of four. The functions of `REORDERED` take the
accumulators of two pairs of columns.
"""

from __future__ import annotations

from ...selection.vectors.matrices import PRODUCTS, REORDERED
from ...selection.vectors.types import VectorType
from .by_instructions import by_instructions
from .templates import fill
from .vector_types import vector_type
from .words import half_of

_PLAIN = """#ifdef __clang__
  const $t a0 = __builtin_shufflevector(($t)a, ($t)a, 0, 0, 2, 2), a1 = __builtin_shufflevector(($t)a, ($t)a, 1, 1, 3, 3);
  const $t b0 = __builtin_shufflevector(($t)b, ($t)b, 0, 2, 0, 2), b1 = __builtin_shufflevector(($t)b, ($t)b, 1, 3, 1, 3);
#else
  const $t a0 = __builtin_shuffle(($t)a, ($t){0, 0, 2, 2}), a1 = __builtin_shuffle(($t)a, ($t){1, 1, 3, 3});
  const $t b0 = __builtin_shuffle(($t)b, ($t){0, 2, 0, 2}), b1 = __builtin_shuffle(($t)b, ($t){1, 3, 1, 3});
#endif
  return irt_v${dot}_i32x4(irt_v${dot}_i32x4(acc, a0, b0), a1, b1);"""
_PRODUCT = """
IRT_INLINE $t irt_v${name}_i32x4($t acc, irt_i64x2 a, irt_i64x2 b) {
$body
}
"""
_REORDER = """
IRT_INLINE $t irt_v${name}_i32x4($t a, $t b) {
#ifdef __clang__
  return __builtin_shufflevector(a, b, $mask);
#else
  return __builtin_shuffle(a, b, ($t){$mask});
#endif
}
"""


def written(name: str, t: VectorType) -> str:
    """The text of such a function, with braces doubled; empty for other names."""
    values = {"name": name, "t": vector_type(*t)}
    if name in PRODUCTS:
        plain = fill(_PLAIN, dot=half_of(PRODUCTS[name]), **values)
        text = fill(_PRODUCT, body=by_instructions(name, t.lanes, values, plain), **values)
    elif name in REORDERED:
        text = fill(_REORDER, mask=", ".join(map(str, REORDERED[name])), **values)
    else:
        return ""
    return text.strip().replace("{", "{{").replace("}", "}}")
