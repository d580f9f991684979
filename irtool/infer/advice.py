"""Advice for a call that an operator refuses: the form that its arguments suggest."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..ir import Constant, Expr, TensorType, TupleType, Type
from ..ir.types import type_leaves
from ..ops.base import Operator
from ..symbolic_int import symbols_of

_SUFFIXES = {"float32": "f", "float64": "f64", "float16": "f16", "int64": "i64", "int32": "", "int16": "i16"}


def advice(operator: type[Operator], attrs: Any, arguments: Sequence[Expr], types: Sequence[Type], reason: str) -> str:
    """A help line for a refused call; empty where nothing is certain."""
    if "must be a tensor, not (" in reason and any(isinstance(t, TupleType) for t in types):
        return "a field of a tuple is written .0 behind it: nn.dropout(%x).0"
    if reason.startswith("the data types") and len(types) == 2:
        return _of_dtypes(arguments, types)
    return _of_lengths(types, reason) or _of_layout(attrs, types)


def wrong_count(operator: type[Operator], arguments: Sequence[Expr]) -> str:
    """A help line for a call with too many arguments."""
    if len(arguments) <= operator.arity:
        return ""
    fields = [f.name for f in operator.fields()]
    if fields and all(isinstance(a, Constant) for a in arguments[operator.arity :]):
        return f"attributes are written by name: {', '.join(f'{n}=…' for n in fields[:4])}"
    if operator.arity == 1 and any(
        w in f"{operator.explain_rule()} {operator.manual()}" for w in ("tuple", "tensors", "Tensors")
    ):
        return f"several tensors are one tuple: {operator.name}((%a, %b))"
    return ""


def _of_lengths(types: Sequence[Type], reason: str) -> str:
    """The way out where lengths that only the run knows would have to be equal, or a multiple of a number."""
    symbols = symbols_of(
        d
        for t in types
        for leaf in type_leaves(t)
        if isinstance(leaf, TensorType)
        for d in leaf.shape
        if isinstance(d, int)
    )
    names = [s.name for s in symbols if re.search(rf"\b{re.escape(s.name)}\b", reason)]
    if len(names) > 1:
        return f"equal lengths have one name: give {' and '.join(names)} the same name if they are equal in all runs"
    divided = re.search(r"\b(\w+) / (\d+)", reason)
    if divided and divided[1] in names:
        return f"a length that is always a multiple of {divided[2]} is given as one: {divided[2]} * {divided[1]}"
    return ""


def _of_dtypes(arguments: Sequence[Expr], types: Sequence[Type]) -> str:
    a, b = types
    if not (isinstance(a, TensorType) and isinstance(b, TensorType)):
        return ""
    for literal, dtype in ((arguments[1], a.dtype), (arguments[0], b.dtype)):
        array: Any = literal.data if isinstance(literal, Constant) else None
        if getattr(array, "shape", None) == () and dtype in _SUFFIXES:
            return f"a number has the dtype of its suffix: write {array.item():g}{_SUFFIXES[dtype]}"
    return f'cast one of them: cast(…, dtype="{a.dtype}")'


def _of_layout(attrs: Any, types: Sequence[Type]) -> str:
    """Channels behind the image where the layout says that they are in front."""
    layout = getattr(attrs, "data_layout", "")
    if not isinstance(layout, str) or not layout.startswith("NC") or not layout.isupper() or len(types) < 2:
        return ""
    data, weight = types[0], types[1]
    if not (isinstance(data, TensorType) and isinstance(weight, TensorType)) or len(weight.shape) < 3:
        return ""
    if len(data.shape) != len(layout) or data.shape[-1] not in (weight.shape[1], weight.shape[-2]):
        return ""
    last = layout[0] + layout[2:] + "C"
    return f'channels stand last in data: say data_layout="{last}", and the layout of the weights by kernel_layout'
