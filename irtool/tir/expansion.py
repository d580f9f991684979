"""Constants whose elements are linear combinations of fewer ones: the library can compute them when it loads its weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_CHUNK = 1 << 12
"""Elements of a row that are combined at a time, in a buffer that fits in the L1 cache."""


@dataclass(frozen=True, eq=False)
class Expansion:
    """Blocks of rows, each row a sum of the rows of a smaller block, times constants: `expanded[b] = matrix @ plain[b]`.

    Attributes:
        matrix: a row of coefficients for each row of an expanded block, a column for each row of a plain one.
        blocks: the number of blocks.
        size: the elements of a row, float32.
        plain: the plain blocks, an array of (blocks, columns of the matrix, size), from the data of the constant's source.
    """

    matrix: tuple[tuple[float, ...], ...]
    blocks: int
    size: int
    plain: Callable[[Any], Any]

    @property
    def rows(self) -> int:
        """The rows of an expanded block."""
        return len(self.matrix)

    @property
    def columns(self) -> int:
        """The rows of a plain block."""
        return len(self.matrix[0])

    @property
    def plain_shape(self) -> tuple[int, int, int]:
        """The shape of the plain blocks."""
        return self.blocks, self.columns, self.size


def expand(plain: Any, matrix: Any) -> Any:
    """The expanded blocks, float32, of plain ones: (blocks, columns, size) become (blocks, rows, size). Sums are in double precision."""
    import numpy as np

    coefficients = np.asarray(matrix, dtype="float64")
    expanded = np.empty((len(plain), len(coefficients), plain.shape[2]), "float32")
    for block, out in zip(plain, expanded):
        for begin in range(0, plain.shape[2], _CHUNK):
            out[:, begin : begin + _CHUNK] = coefficients @ block[:, begin : begin + _CHUNK].astype("float64")
    return expanded
