"""Names and values of PyTorch, TensorFlow and numpy, and their counterparts in Relay: help for messages about attributes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from ..diagnostics import nearest

_NAMES = {
    "dim": ("axis", "axes"),
    "dims": ("axis", "axes"),
    "axes": ("axis",),
    "axis": ("axes", "indices_or_sections"),
    "kernel_size": ("kernel_size", "pool_size"),
    "ksize": ("pool_size", "kernel_size"),
    "stride": ("strides",),
    "pads": ("padding", "pad_width"),
    "out_channels": ("channels", "units"),
    "filters": ("channels",),
    "out_features": ("units",),
    "data_format": ("data_layout", "layout"),
    "eps": ("epsilon",),
    "p": ("rate",),
    "negative_slope": ("alpha",),
    "min": ("a_min",),
    "max": ("a_max",),
    "shape": ("newshape", "shape"),
    "perm": ("axes",),
    "to": ("dtype",),
    "group": ("groups",),
    "dilations": ("dilation",),
    "keepdim": ("keepdims",),
    "keep_dims": ("keepdims",),
    "num_or_size_splits": ("indices_or_sections",),
    "split_size_or_sections": ("indices_or_sections",),
    "repeats": ("reps", "repeats"),
    "largest": ("is_ascend",),
    "descending": ("is_ascend",),
}
_DTYPES = {
    "half": "float16", "float": "float32", "single": "float32", "double": "float64", "f16": "float16", "fp16": "float16",
    "f32": "float32", "fp32": "float32", "f64": "float64", "fp64": "float64", "bf16": "bfloat16", "i8": "int8", "i16": "int16",
    "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64", "byte": "uint8",
    "char": "int8", "short": "int16", "int": "int32", "long": "int64", "boolean": "bool", "integer": "int32",
}  # fmt: skip
_COMMON = ("float32", "float16", "float64", "bfloat16", "int32", "int64", "int16", "int8", "uint8", "bool")


def other_name(name: str, known: Collection[str]) -> str:
    """`did you mean …?` for an attribute that an operator does not have; empty where nothing resembles it."""
    for meant in _NAMES.get(name, ()):
        if meant in known:
            return f"did you mean {meant}?"
    return nearest(name, known)


def dtype_meant(name: str) -> str:
    """`did you mean float16?` for `half` and the like; empty where nothing resembles it."""
    meant = _DTYPES.get(name.lower().rpartition(".")[2])
    return f"did you mean {meant}?" if meant else nearest(name, _COMMON)


def value_meant(name: str, value: Any, is_list: bool, is_dtype: bool) -> str:
    """The correct form of a value of the wrong kind: a number for a list, a word for a padding, the dtypes of other languages."""
    if is_dtype and isinstance(value, str):
        return dtype_meant(value)
    if name == "padding" and isinstance(value, str):
        if value.lower() == "valid":
            return "padding=[0, 0, 0, 0] adds nothing"
        return "write the rows and columns: padding=[top, left, bottom, right]; of an odd kernel k and strides of 1, [k / 2, k / 2] rounded down"
    if is_list and isinstance(value, int) and not isinstance(value, bool):
        number = int(value)
        both = name in ("strides", "dilation", "padding", "pool_size", "kernel_size", "output_size")
        return f"write {name}=[{number}, {number}] (rows, columns)" if both else f"write {name}=[{number}]"
    return ""


def attribute_missing(names: Sequence[str]) -> str:
    """A sentence: attributes are written with their names."""
    shown = ", ".join(f"{n}=…" for n in names)
    return f"attributes are written by name: {shown}"
