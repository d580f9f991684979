"""Networks in which values say shapes and axes, with inputs, bounds of lengths, and the error codes of runs that have no result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

_X = np.arange(12, dtype="float32").reshape(3, 4)
_CUBE = np.arange(24, dtype="float32").reshape(2, 3, 4)
_ONES = np.arange(3, dtype="float32").reshape(1, 3, 1)


@dataclass(frozen=True)
class ShapeCase:
    """A call on `%x` and `%s`.

    Attributes:
        values: of `%s`, each with a result.
        wrong: others, each an error.
    """

    call: str
    x: np.ndarray
    values: Sequence[Any]
    wrong: Sequence[Any] = ()
    dims: Mapping[str, str | int] | None = None
    dtype: str = "int64"

    @property
    def text(self) -> str:
        """The module."""
        s = np.asarray(self.values[0])
        types = [f"Tensor[({', '.join(map(str, a.shape))}), {d}]" for a, d in ((self.x, "float32"), (s, self.dtype))]
        return f"def @main(%x: {types[0]}, %s: {types[1]}) {{ {self.call} }}"


CASES = {
    "reshape": ShapeCase(
        "dyn.reshape(%x, %s, newshape=[])",
        _X,
        [(2, 6), (-1, 3), (0, 4), (12, -1), (4, 3), (3, -2), (-2, -2)],
        [(5, 2), (-2, 6), (3, 5), (-1, -1), (-3, -2), (-5, 12)],
    ),
    "reshape, joined": ShapeCase(
        "dyn.reshape(%x, %s, newshape=[])",
        _CUBE,
        [(-3, -2), (-3, -1), (-3, 0), (-1, -3), (8, -1)],
        [(-2, -3), (-4, 2), (6, -2), (-3, 3)],
    ),
    "reshape, split": ShapeCase(
        "dyn.reshape(%x, %s, newshape=[])",
        _CUBE,
        [(-4, 1, 2, -2), (-4, -1, 2, -2), (2, 3, 2, 2), (0, 0, -1, 2)],
        [(-4, -1, -1, -2), (-4, 0, 3, -2), (0, 0, 0, 0), (2, -4, -1, 2)],
        {f"count_{n}": "<=24" for n in range(4)},
    ),
    "reshape to groups": ShapeCase(
        'dyn.reshape(%x, concatenate((%s, full(0i64, shape=[1], dtype="int64"))), newshape=[])',
        _CUBE,
        [(8,), (-3,)],
        [(6,), (-2,), (-4,)],
    ),
    "reshape of nothing": ShapeCase(
        "dyn.reshape(%x, %s, newshape=[])",
        _X[:0],
        [(0, -1), (0, 5), (0, 0), (-1, 2), (-2, -2)],
        [(3, 0), (2, 2), (0, 7), (-1, -1)],
        {"count_0": "<=6", "count_1": "<=6"},
    ),
    "reshape of a number": ShapeCase(
        "dyn.reshape(%x, %s, newshape=[])",
        np.ones((), "float32"),
        [(1, 1), (-1, 1), (1, -1)],
        [(0, 1), (1, 2), (-1, -1)],
    ),
    "reshape to rows": ShapeCase(
        'dyn.reshape(%x, concatenate((%s, full(2i64, shape=[1], dtype="int64"))), newshape=[])',
        _X,
        [(6,), (-1,)],
        [(5,), (12,)],
    ),
    "expand": ShapeCase("dyn.expand_dims(%x, %s, num_newaxis=2)", _X, [0, 1, 2, -1, -3], [3, -4]),
    "squeeze": ShapeCase("dyn.squeeze(%x, %s, axis=[])", _ONES, [(0,), (2,), (-1,), (-3,)], [(1,), (-2,)]),
    "broadcast": ShapeCase(
        "dyn.broadcast_to(%x, %s, shape=None)",
        _ONES,
        [(2, 3, 1), (1, 3, 5), (5, 3, 4)],
        [(2, 4, 1), (6, 3, 1)],
        {"count_0": "<=5", "count_1": "<=5"},
    ),
    "pad": ShapeCase(
        "dyn.nn.pad(%x, %s, -1f, pad_width=[])",
        _X,
        [((0, 1), (2, 0)), ((3, 3), (0, 0))],
        [((0, 4), (0, 0)), ((-1, 0), (0, 0))],
        {f"count_{n}": "<=3" for n in range(4)},
    ),
    "resize": ShapeCase(
        'dyn.image.resize2d(reshape(%x, newshape=[1, 1, 3, 4]), %s, zeros(shape=[4], dtype="float32"))',
        _X,
        [(6, 5), (1, 1), (3, 4)],
        [(7, 1)],
        {"count_0": "<=6", "count_1": "<=6"},
    ),
    "resize by scales": ShapeCase(
        "dyn.image.resize2d(reshape(%x, newshape=[1, 1, 3, 4]), cast(floor(multiply(clip(%s, a_min=0f, a_max=2f), cast("
        'reshape(3, newshape=[1]), dtype="float32"))), dtype="int64"), zeros(shape=[4], dtype="float32"))',
        _X,
        [(1, 1), (2, 1.5), (0, 1), (9, 9)],
        dtype="float32",
    ),
    **{
        f"upsampling, {method}{', corners' if corners else ''}": ShapeCase(
            "dyn.nn.upsampling(reshape(%x, newshape=[1, 1, 3, 4]), take(%s, 0), take(%s, 1), scale_h=0f, scale_w=0f, "
            f'method="{method}", align_corners={corners})',
            _X,
            [(1, 1), (2, 3), (1.5, 2.5), (0.5, 1), (0.4, 4), (0, 2)],
            [(-1, 2), (1, np.nan), (np.inf, 1), (7, 1)],
            {"count_0": "<=20", "count_1": "<=20"},
            "float32",
        )
        for method, corners in (("nearest_neighbor", False), ("nearest_neighbor", True), ("bilinear", False))
    },
    "upsampling within bounds": ShapeCase(
        "dyn.nn.upsampling3d(reshape(%x, newshape=[1, 1, 1, 3, 4]), 2f, clip(take(%s, 0), a_min=0f, a_max=4f), "
        "clip(take(%s, 1), a_min=0f, a_max=3f), scale_d=0f, scale_h=0f, scale_w=0f)",
        _X,
        [(1, 1), (2, 3), (1.5, 2.5), (0, 9), (-3, 1)],
        [(1, np.nan)],
        dtype="float32",
    ),
}
