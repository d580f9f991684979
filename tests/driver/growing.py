"""Networks that hand on tensors of other extents in each turn, with inputs for which there are no turns, one, some, and all there may be."""

from __future__ import annotations

import numpy as np

from tests.driver.value_lengths import Network

_X = np.array([1, -2, 3], "float32")
_COUNTS = [{"n": np.array(n, "int64"), "x": _X} for n in (0, 1, 4, 6, 30)]


def growing(
    after: str,
    first: str = 'zeros(shape=[1, 3], dtype="float32")',
    limit: str = "minimum(%n, 6i64)",
    result: str = "%r",
) -> str:
    """A module in which `%acc` becomes `after` in each turn, from `first` on, `limit` times."""
    return f"""
def @grow(%i: int64, %n: int64, %acc: Tensor[(?, 3), float32], %x: Tensor[(3), float32]) -> Tensor[(?, 3), float32] {{
  if (less(%i, %n)) {{ @grow(add(%i, 1i64), %n, {after}, %x) }} else {{ %acc }}
}}
def @main(%n: int64, %x: Tensor[(3), float32]) {{ let %r = @grow(0i64, {limit}, {first}, %x); {result} }}
"""


ROW = '(%acc, expand_dims(multiply(%x, cast(%i, dtype="float32")), axis=0))'
_POSITIVE = "squeeze(argwhere(greater(sum(%acc, axis=[1]), 0f)), axis=[1])"
_THREE = 'concatenate((expand_dims(%x, axis=0), ones(shape=[2, 3], dtype="float32")))'

GROWING = {
    "rows": Network(growing(f"concatenate({ROW})", result="(%r, sum(%r, axis=[0]))"), _COUNTS),
    "rows from none": Network(growing(f"concatenate({ROW})", 'zeros(shape=[0, 3], dtype="float32")'), _COUNTS),
    "doubled up to a slice": Network(
        growing("strided_slice(concatenate((%acc, %acc)), begin=[0], end=[9], strides=[1], axes=[0])"), _COUNTS
    ),
    "fewer rows": Network(growing(f"subtract(take(%acc, {_POSITIVE}, axis=0), 0.5f)", _THREE), _COUNTS),
}
"""Each with its bound: 7 rows, 6 rows, 9 rows, and the 3 rows of the beginning."""

BOUNDS = {"rows": 21, "rows from none": 18, "doubled up to a slice": 27, "fewer rows": 9}
"""The elements of the first result at its bound."""
