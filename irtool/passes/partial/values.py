"""Partially static values: the known part of a value, and the code that computes it at run time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...ir import Constant, Constructor, Expr


class Static:
    """The known part of a value."""

    __slots__ = ()


@dataclass(frozen=True, eq=False, slots=True)
class StaticTensor(Static):
    """A tensor whose elements are known."""

    constant: Constant


@dataclass(frozen=True, eq=False, slots=True)
class StaticTuple(Static):
    """A tuple; of each field something may be known."""

    fields: tuple[Partial, ...]


@dataclass(frozen=True, eq=False, slots=True)
class StaticData(Static):
    """A constructor applied to fields."""

    constructor: Constructor
    fields: tuple[Partial, ...]


@dataclass(frozen=True, eq=False, slots=True)
class StaticRef(Static):
    """One particular reference: its value is in the store, under this object."""


@dataclass(frozen=True, eq=False, slots=True)
class StaticFunction(Static):
    """A function that can be applied now. `apply(self, arguments, attrs, type_args, lets)` is a generator."""

    apply: Callable[..., Any]


class Partial:
    """`known` (None if nothing is), and `dynamic`, an atom: the code of the value. `created` orders values in time."""

    __slots__ = ("created", "dynamic", "known")

    def __init__(self, known: Static | None, dynamic: Expr, created: int) -> None:
        self.known = known
        self.dynamic = dynamic
        self.created = created
