"""Matrix products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ..dtypes import is_float
from ..form import Form, form
from ..graph import Value
from ..site import OnnxSite


def product(s: OnnxSite, a: Value, b: Value, dtype: str) -> Value:
    """`a @ b` in a dtype. 8-bit integers are multiplied exactly."""
    if a.dtype in ("int8", "uint8") and b.dtype in ("int8", "uint8") and dtype == "int32":
        return s.node("MatMulInteger", a, b, dtype="int32")
    wide = dtype if is_float(dtype) or dtype in ("int32", "int64", "uint32", "uint64") else "int32"
    return s.cast(s.node("MatMul", s.cast(a, wide), s.cast(b, wide)), dtype)


def swapped(s: OnnxSite, index: int) -> Value:
    """An argument with its last two axes exchanged."""
    rank = len(s.tensor(index).shape)
    return s.transpose(s.inputs[index], [*range(rank - 2), rank - 1, rank - 2])


@form("nn.dense")
@dataclass(frozen=True)
class Dense(Form):
    """`Gemm` with `transB=1` of a matrix, else `Transpose`, `MatMul`; `MatMulInteger` of 8-bit integers"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        x, w = s.inputs
        if len(s.tensor(0).shape) == 2 and is_float(x.dtype) and x.dtype == w.dtype == s.out.dtype:
            return s.node("Gemm", x, w, transB=1)
        return product(s, x, swapped(s, 1), s.out.dtype)


@form("nn.matmul", "nn.batch_matmul")
@dataclass(frozen=True)
class MatMul(Form):
    """`MatMul`, operands transposed as the attributes say; `MatMulInteger` of 8-bit integers"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        a = swapped(s, 0) if s.attrs.transpose_a else s.inputs[0]
        b = swapped(s, 1) if s.attrs.transpose_b else s.inputs[1]
        return product(s, a, b, s.out.dtype)
