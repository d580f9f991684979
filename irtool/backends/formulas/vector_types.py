"""GCC's vector types: their names and definitions."""

from __future__ import annotations

import re

from ...selection.vectors.types import VectorType
from ...tir import dtypes
from ..c_types import stored_type, value_type


def vector_type(dtype: str, lanes: int) -> str:
    """The name of the vector type."""
    short = {"float16": "f16", "float32": "f32", "float64": "f64"}.get(dtype) or dtype.replace("uint", "u").replace(
        "int", "i"
    )
    return f"irt_{short}x{lanes}"


def define_type(dtype: str, lanes: int) -> str:
    """Definitions of the vector type, and of its twin with the alignment of an element; one of float16 has the bits."""
    element = stored_type(dtype) if dtypes.is_half(dtype) else value_type(dtype)
    name, size = vector_type(dtype, lanes), lanes * dtypes.itemsize(dtype)
    return (
        f"typedef {element} {name} __attribute__((vector_size({size})));\n"
        f"typedef {element} {name}_u __attribute__((vector_size({size}), aligned({dtypes.itemsize(dtype)}), may_alias));"
    )


_NAME = re.compile(r"\birt_([fiu]\d+x\d+)(?:_u)?\b")


def find_types(text: str) -> set[VectorType]:
    """The vector types that a text names."""
    return {read_type(t) for t in _NAME.findall(text)}


def read_type(short: str) -> VectorType:
    """The vector type of a name without its prefix: `f32x16`."""
    element, lanes = short.split("x")
    return VectorType({"f": "float", "i": "int", "u": "uint"}[element[0]] + element[1:], int(lanes))
