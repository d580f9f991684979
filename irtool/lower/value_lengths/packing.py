"""Tensors whose extents change, as vectors of as many elements as they have at most, and their extents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from ...infer.infer import infer_expr
from ...ir import Call, Expr, TensorType, Tuple, TupleGetItem
from ...ops.base import call
from ...symbolic_int import Symbol, bound, symbols_of
from ..values import dims
from .fresh import Fresh
from .ranges import Range


@dataclass(frozen=True)
class ResultForm:
    """A result of a function: a tensor of that type; or, with `size`, a vector of so many elements, and the extents.

    Attributes:
        possible: the greatest extents, or those that all calls have.
    """

    type: TensorType
    size: int | None
    possible: tuple[int, ...]

    @property
    def types(self) -> list[TensorType]:
        """The types of the fields that the function returns for it."""
        if self.size is None:
            return [self.type]
        return [TensorType((self.size,), self.type.dtype), TensorType((len(self.type.shape),), "int64")]


def beginning(vector: Expr, extents: Expr, t: TensorType, lengths: Mapping[int, int]) -> Expr:
    """The tensor at the beginning of a vector, whose extents along some axes become lengths."""
    data = call("length.set", vector, extents, lengths=[*lengths.values()], places=[*lengths])
    flat = call("length.cut", data, shape=[prod(dims(t))])
    return infer_expr(call("reshape", flat, newshape=[*dims(t)], allowzero=True))


def as_vector(x: Expr, size: int) -> tuple[Expr, Expr]:
    """A tensor as a vector of that size, and its extents."""
    t = x.checked_type
    assert isinstance(t, TensorType)
    flat = call("reshape", x, newshape=[prod(dims(t))], allowzero=True)
    return infer_expr(call("length.keep", flat, size=size)), infer_expr(call("shape_of", x, dtype="int64"))


def result_forms(leaves: Sequence[Sequence[Expr]], own: set[Symbol]) -> list[ResultForm] | None:
    """The forms of results that a function ends with in several places; `own` are the lengths that it sets. None for other ranks or dtypes."""
    forms = []
    for row in zip(*leaves, strict=True):
        types = [t for x in row if isinstance(t := x.checked_type, TensorType) and t.is_static]
        if len(types) != len(row) or len({(len(t.shape), t.dtype) for t in types}) != 1:
            return None
        first = types[0]
        if all(t == first for t in types) and not own & {*symbols_of(dims(first))}:
            forms.append(ResultForm(first, None, dims(first)))
            continue
        columns = zip(*(dims(t) for t in types), strict=True)
        possible = tuple(c[0] if _is_one(c, own) else max(map(bound, c)) for c in columns)
        forms.append(ResultForm(first, max(bound(prod(dims(t))) for t in types), possible))
    return forms


def _is_one(extents: Sequence[int], own: set[Symbol]) -> bool:
    return all(d == extents[0] for d in extents) and not own & {*symbols_of(extents)}


def packed_result(parts: Sequence[Expr], forms: Sequence[ResultForm]) -> Expr:
    """The tuple that a function ends with."""
    fields: list[Expr] = []
    for x, form in zip(parts, forms, strict=True):
        fields += [x] if form.size is None else as_vector(x, form.size)
    return infer_expr(Tuple(tuple(fields)))


def unpacked_result(called: Expr, forms: Sequence[ResultForm], fresh: Fresh, e: Call) -> Iterator[Expr]:
    """The tensors of the results of a call, whose extents are new lengths where the function decides them."""
    place = 0
    for number, form in enumerate(forms):
        fields: list[Any] = [infer_expr(TupleGetItem(called, place + k)) for k in range(len(form.types))]
        place += len(fields)
        if form.size is None:
            yield fields[0]
            continue
        lengths = {}
        for k, (d, own) in enumerate(zip(form.possible, dims(form.type), strict=True)):
            if not (isinstance(d, int) and d is own):
                lengths[k] = fresh.length(Range(0, d), e, f"axis {k} of result {number} of {e.op!r}")
        extents = tuple(lengths.get(k, d) for k, d in enumerate(form.possible))
        yield beginning(fields[0], fields[1], TensorType(extents, form.type.dtype), lengths)
