"""GCC's vector types: their names and definitions."""

from __future__ import annotations

from ...tir import dtypes
from ..c_types import value_type


def vector_type(dtype: str, lanes: int) -> str:
    """The name of the vector type."""
    short = {"float32": "f32", "float64": "f64"}.get(dtype) or dtype.replace("uint", "u").replace("int", "i")
    return f"irt_{short}x{lanes}"


def define_type(dtype: str, lanes: int) -> str:
    """Definitions of the vector type, and of its twin that may stand at any address of an element."""
    name, element, size = vector_type(dtype, lanes), value_type(dtype), lanes * dtypes.itemsize(dtype)
    return (
        f"typedef {element} {name} __attribute__((vector_size({size})));\n"
        f"typedef {element} {name}_u __attribute__((vector_size({size}), aligned({dtypes.itemsize(dtype)}), may_alias));"
    )
