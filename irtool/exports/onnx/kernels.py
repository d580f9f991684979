"""Element types that ONNX Runtime's CPU kernels compute in, for operators that ONNX itself defines for more.

A model that is valid may still be refused when it is loaded: the runtime has no 8-bit `Add`, no `Where` on truth values. Such
a node is computed in the narrowest wider integer type of the list and its result is cast back, which gives the same bits, since
sums and products wrap alike. Floating point is left as it is: the runtime widens float16 by itself.
"""

from __future__ import annotations

from .dtypes import bits_of, is_unsigned
from .no_form import NoForm

_WIDE = ("int32", "int64")
_FLAT = ("uint8", "int32", "int64")

COMPUTED_IN: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("Add", "Sub", "Mul", "CumSum", "Pow", "ReduceSum", "Einsum", "TopK"), _WIDE),
    **dict.fromkeys(("Greater", "GreaterOrEqual", "Less", "LessOrEqual", "ReduceProd", "Sum"), _WIDE),
    "Div": (*_WIDE, "uint64"),
    "Equal": ("bool", "int32", "int64"),
    "Max": ("int32", "int64", "uint32", "uint64"),
    "Min": ("int32", "int64", "uint32", "uint64"),
    "Clip": ("int8", "uint8", "int32", "int64", "uint32", "uint64"),
    "Relu": ("int32",),
    "Neg": ("int8", "int32", "int64"),
    "ReduceMax": ("int8", "uint8", "int32", "int64"),
    "ReduceMin": ("int8", "uint8", "int32", "int64"),
    "ArgMax": ("int8", "uint8", "int32", "int64"),
    "ArgMin": ("int8", "uint8", "int32", "int64"),
    "MatMul": ("int32", "int64", "uint32", "uint64"),
    "NonZero": ("bool", "uint8", "int32", "int64"),
    "Where": _FLAT,
    "Pad": ("bool", "int8", "uint8", "int32", "int64", "uint32", "uint64"),
    "Tile": ("bool", "int8", "uint8", "int32", "int64", "uint32", "uint64"),
    "Trilu": ("bool", "int64"),
    "MaxPool": ("int8", "uint8"),
    "ScatterElements": ("int8", "uint8", "int16", "uint16", "int32", "int64", "uint32", "uint64", "bool"),
    "Range": ("int16", "int32", "int64"),
}


ORDERED = ("Greater", "GreaterOrEqual", "Less", "LessOrEqual", "ReduceMax", "ReduceMin", "ArgMax", "ArgMin")
"""Nodes that ask which number is larger: of uint64 they are computed on the numbers less 2^63, which int64 holds in the same order."""

_WRAPPING = ("Add", "Sub", "Mul", "Neg", "CumSum", "ReduceSum", "ReduceProd", "MatMul", "Einsum", "Sum", "Equal", "NonZero", "Where",
             "Pad", "Tile", "Trilu", "ScatterElements", "Range")  # fmt: skip
"""Nodes that give the same bits on uint64 taken for int64: sums and products wrap alike, and the others move or match bits."""


def computed_in(node: str, dtype: str) -> str:
    """The type to compute a node in whose operands are of that integer type; the type itself if there is a kernel, or none.

    A type that does not hold the values is taken only where the result has the same bits. Raises NoForm if there is none.
    """
    have = COMPUTED_IN.get(node)
    if have is None or dtype in have or "float" in dtype:
        return dtype
    if dtype == "bool":
        return have[0]
    width = bits_of(dtype)
    for wider in have:
        if wider != "bool" and is_unsigned(wider) <= is_unsigned(dtype):
            headroom = bits_of(wider) - (is_unsigned(dtype) and not is_unsigned(wider))
            if headroom >= width:
                return wider
    if node in _WRAPPING and "int64" in have:
        return "int64"
    raise NoForm(f"ONNX Runtime has no {node} of {dtype}, and of no type that holds the numbers")
