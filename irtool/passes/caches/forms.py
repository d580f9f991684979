"""The forms of caches in memory: numbers of another float type, or of 8 bits with a scale for each row of a head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...deferred import np
from ...ir import Call, Constant, Expr, TensorType, Tuple, TupleGetItem
from ...ir.dims import Dim, is_number
from ...ops.base import attributes_of, call, is_call_to
from ..core.constants import array_constant, has_data, to_array
from .updates import Cache

DTYPES = ("float16", "bfloat16", "float32", "int8")
"""The dtypes of caches."""


class Form:
    """A form of a cache: its tensors, each with a suffix of its name, and the expressions for them.

    A cache of type `t` has the tensors `types(t)`. `rows` gives the tensors of rows, and `real` the numbers that they stand for.
    """

    def obstacle(self, cache: Cache) -> str:
        """The reason why a cache cannot have the form; empty if it can."""
        return ""

    def types(self, t: TensorType) -> dict[str, TensorType]:
        """The types of the tensors by the suffixes of their names."""
        raise NotImplementedError

    def rows(self, data: Expr, dtype: str) -> tuple[Expr, ...]:
        """The tensors of rows in floats of that dtype."""
        raise NotImplementedError

    def places(self, number: int, update: Call, indices: Sequence[Expr]) -> Sequence[Expr]:
        """The indices of an update for the tensor of that number."""
        return indices

    def real(self, parts: Sequence[Expr], t: TensorType) -> Expr:
        """The numbers of a cache of type `t`, or of rows of it."""
        raise NotImplementedError


@dataclass(frozen=True)
class Floats(Form):
    """Numbers of another float type."""

    dtype: str

    def types(self, t: TensorType) -> dict[str, TensorType]:
        return {"": TensorType(t.shape, self.dtype)}

    def rows(self, data: Expr, dtype: str) -> tuple[Expr, ...]:
        return (call("cast", data, dtype=self.dtype, span=data.span),)

    def real(self, parts: Sequence[Expr], t: TensorType) -> Expr:
        return call("cast", parts[0], dtype=t.dtype, span=parts[0].span)


@dataclass(frozen=True)
class Bytes(Form):
    """Numbers of 8 bits, and a scale in float32 for each row of `size` elements along the last axis, as `qnn.quantize_blocks` has them."""

    size: Dim

    def obstacle(self, cache: Cache) -> str:
        if not is_number(self.size):
            return "its last axis, along which 8 bits have a scale, has a length that the run decides"
        if self.size > 1 << 16:
            return f"a row of {self.size} elements is too long for one scale"
        last = len(cache.type.shape) - 1
        for u in cache.updates:
            if _changes_along(u, last):
                return "its rows change along the last axis, along which 8 bits have a scale"
        return ""

    def types(self, t: TensorType) -> dict[str, TensorType]:
        return {"": TensorType(t.shape, "int8"), "_scale": TensorType((*t.shape[:-1], 1), "float32")}

    def rows(self, data: Expr, dtype: str) -> tuple[Expr, ...]:
        exact = data if dtype == "float32" else call("cast", data, dtype="float32", span=data.span)
        quantized = call("qnn.quantize_blocks", exact, block_size=self.size, span=data.span)
        return TupleGetItem(quantized, 0), TupleGetItem(quantized, 1)

    def places(self, number: int, update: Call, indices: Sequence[Expr]) -> Sequence[Expr]:
        if not number or not is_call_to(update, "scatter", "scatter_elements"):
            return indices
        t = update.args[1].checked_type
        assert isinstance(t, TensorType)
        (places,) = indices
        return [
            call("strided_slice", places, begin=[0], end=[1], strides=[1], axes=[len(t.shape) - 1], span=places.span)
        ]

    def real(self, parts: Sequence[Expr], t: TensorType) -> Expr:
        numbers, scale = parts
        zero = array_constant(np.asarray(0), "int32")
        axis = len(t.shape) - 1
        attributes = {"axis": axis, "block_size": self.size, "out_dtype": t.dtype}
        return call("qnn.dequantize_blocks", numbers, scale, zero, span=numbers.span, **attributes)


def form_of(dtype: str, t: TensorType) -> Form:
    """The form of a cache of type `t` with a dtype among `DTYPES`."""
    return Bytes(t.shape[-1]) if dtype == "int8" else Floats(dtype)


def updated_part(form: Form, number: int, old: Call, new: Call, before: Expr, rows: Sequence[tuple[Expr, ...]]) -> Expr:
    """The tensor of that number behind an update.

    Args:
        old, new: the typed call of the update, and the same with its operands rewritten.
        before: the tensor in front of it.
        rows: the tensors of the rows that it writes.
    """
    attributes = attributes_of(old.attrs)
    written = [parts[number] for parts in rows]
    if is_call_to(old, "concatenate"):
        return call("concatenate", Tuple((before, *written)), span=old.span, **attributes)
    if is_call_to(old, "strided_slice"):
        return call("strided_slice", before, *new.args[1:], span=old.span, **attributes)
    return call(old.op_name, before, *form.places(number, old, new.args[1:-1]), *written, span=old.span, **attributes)


def rows_of(update: Call) -> tuple[Expr, ...]:
    """The rows that an update writes, in floats; none of a slice."""
    if is_call_to(update, "concatenate"):
        joined = update.args[0]
        return joined.fields[1:] if isinstance(joined, Tuple) else ()
    return () if is_call_to(update, "strided_slice") else (update.args[-1],)


def _changes_along(update: Call, axis: int) -> bool:
    """True if an update may write elements of a row along an axis apart from each other, or leave some out."""
    t = update.checked_type
    assert isinstance(t, TensorType)
    if is_call_to(update, "concatenate"):
        return update.attrs.axis % len(t.shape) == axis  # type: ignore[union-attr]  # an operator's
    if is_call_to(update, "strided_slice"):
        data = update.args[0].checked_type
        assert isinstance(data, TensorType)
        return len(update.args) > 1 or data.shape[axis] != t.shape[axis]
    if is_call_to(update, "scatter_nd"):
        indices = update.args[1].checked_type
        return not isinstance(indices, TensorType) or indices.shape[0] == len(t.shape)
    places, rows = (a.checked_type for a in update.args[1:])
    if not isinstance(places, TensorType) or not isinstance(rows, TensorType):
        return True
    is_whole = places.shape[axis] == rows.shape[axis] == t.shape[axis]
    return not is_whole or update.attrs.axis % len(t.shape) == axis or not _is_even(update.args[1])  # type: ignore[union-attr]  # as above


def _is_even(indices: Expr) -> bool:
    """True if indices are known to be equal along the last axis."""
    if isinstance(indices, Constant) and has_data(indices):
        values = to_array(indices)
        return bool((values == values[..., :1]).all())
    if isinstance(indices, Call) and is_call_to(indices, "broadcast_to"):
        t = indices.args[0].checked_type
        return isinstance(t, TensorType) and (not t.shape or t.shape[-1] == 1)
    return False
