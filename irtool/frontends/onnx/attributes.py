"""Attributes of nodes as Python values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...deferred import np
from ...diagnostics import IrError
from .elements import NARROW
from .initializers import dense_array, initializer_dtype
from .mistakes import DamagedModel, UnsupportedNode
from .tensors import held_dtype, read_tensor
from .value import Value


def attribute_value(a: Any) -> Any:
    """The value of an AttributeProto: an int, a float, a string, a tensor as a Value, or a tuple of these.

    Raises IrError for graphs and types, which operators ask for in other ways, and for what has no value.
    """
    kind = a.type or _guess(a)
    if kind == a.INT:
        return a.i
    if kind == a.FLOAT:
        return _shortest(a.f)
    if kind == a.STRING:
        return _text(a.s, a.name)
    if kind == a.INTS:
        return tuple(a.ints)
    if kind == a.FLOATS:
        return _all_shortest(a.floats)
    if kind == a.STRINGS:
        return tuple(_text(s, a.name) for s in a.strings)
    if kind == a.TENSOR:
        return _tensor(a.t, a.name)
    if kind == a.TENSORS:
        return tuple(_tensor(t, a.name) for t in a.tensors)
    if kind == a.SPARSE_TENSOR:
        return Value.constant(dense_array(a.sparse_tensor), initializer_dtype(a.sparse_tensor))
    raise IrError(f"attribute {a.name} is of a kind that has no form in Relay", code=UnsupportedNode)


def _tensor(proto: Any, name: str) -> Value:
    what = f"attribute {name}"
    constant = Value.constant(read_tensor(proto, what), held_dtype(proto.data_type, what))
    return replace(constant, narrow=NARROW.get(proto.data_type))


def _shortest(f: float) -> float:
    """The number with the fewest digits that is that one in float32: 1e-05, not 9.999999747378752e-06."""
    return float(str(np.float32(f)))


def _all_shortest(numbers: Sequence[float]) -> tuple[float, ...]:
    """`_shortest` of each, once for all that are alike: half the numbers of a forest are those of its leaves, 0 or 1."""
    bits, positions = np.unique(np.array(numbers, "float32").view("int32"), return_inverse=True)
    values = np.fromiter(map(float, map(str, bits.view("float32"))), "float64", len(bits))
    return tuple(values[positions].tolist())


def _guess(a: Any) -> int:
    """The kind of an attribute of a model older than the field that says it."""
    for field, kind in (("i", a.INT), ("f", a.FLOAT), ("s", a.STRING), ("t", a.TENSOR)):
        if a.HasField(field):
            return kind
    for field, kind in (("ints", a.INTS), ("floats", a.FLOATS), ("strings", a.STRINGS), ("tensors", a.TENSORS)):
        if len(getattr(a, field)):
            return kind
    raise IrError(f"attribute {a.name} has no value", code=DamagedModel)


def _text(raw: bytes, name: str) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise IrError(f"attribute {name} is not UTF-8 text", code=DamagedModel) from None
