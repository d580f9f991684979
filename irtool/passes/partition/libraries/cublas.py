"""cuBLAS: products of matrices."""

from __future__ import annotations

from collections.abc import Sequence

from ....ir import Call
from ....ops.dtypes import dtype_of
from ...dataflow import is_op, wildcard
from .library import Composite, Library, tensor

_KINDS = [
    ("float16", "float16"),
    ("float16", "float32"),
    ("float32", "float32"),
    ("float64", "float64"),
    ("int8", "float32"),
    ("int8", "int32"),
]
"""Dtypes of operands, and the dtypes of their sums."""


def _composites() -> Sequence[Composite]:
    return [
        (f"cublas.{name}", is_op(f"nn.{name}")(wildcard(), wildcard()), _product)
        for name in ("matmul", "batch_matmul", "dense")
    ]


def _product(e: Call) -> bool:
    lhs, rhs = tensor(e.args[0]), tensor(e.args[1])
    if lhs.dtype != rhs.dtype or (lhs.dtype, dtype_of(e)) not in _KINDS:
        return False
    return lhs.dtype != "int8" or all(isinstance(t.shape[-1], int) and t.shape[-1] % 4 == 0 for t in (lhs, rhs))


LIBRARY = Library("cublas", _composites)
