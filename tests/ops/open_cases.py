"""Cases of operators in which one extent is a length that only the run knows."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import irtool
from irtool.driver.operator_cases import module_of
from irtool.infer import infer_types
from irtool.infer.hints import annotate_params
from irtool.ir import Module, TensorType
from irtool.ops.base import operators
from irtool.ops.cases import Case, cases_of
from irtool.symbolic_int import SymbolicInt, symbolic

HIGH = 16
N = symbolic("n", 1, HIGH)
FROM_NONE = symbolic("n", 0, HIGH)
"""A length that may be 0, as those are that count what a run finds."""


_range = range


class _IsRange(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, _range)

    def __call__(cls, *args: Any) -> range:
        assert not any(isinstance(a, SymbolicInt) for a in args), "a range drops the formula of a length"
        return _range(*args)


class _NumbersOnly(metaclass=_IsRange):
    """`range` for numbers without a formula."""


@contextmanager
def ranges_of_numbers() -> Iterator[None]:
    """Makes `range` refuse formulas, which it would drop in silence."""
    builtins.range = _NumbersOnly  # type: ignore[misc,assignment]
    try:
        yield
    finally:
        builtins.range = _range  # type: ignore[misc]


def with_extent(case: Case, extent: int, d: int) -> Module:
    """The module of a case with `d` in the place of all extents of that size."""
    module = irtool.parse(case.program)
    params = {p: p.type_annotation for p in module["main"].params}
    types = {p: TensorType(tuple(d if e == extent else e for e in t.shape), t.dtype) for p, t in params.items()}
    return infer_types(annotate_params(module, "main", types))


def lengths_of(name: str, length: SymbolicInt = N) -> Iterator[tuple[Case, int, Module]]:
    """The cases of an operator, each with an extent that becomes the length, and the module."""
    for case in cases_of(operators.get(name)):
        if case.refusal:
            continue
        try:
            types = [p.checked_type for p in module_of(case)["main"].params]
        except irtool.IrError:
            continue
        if not all(isinstance(t, TensorType) and t.is_static for t in types):
            continue
        for extent in sorted({d for t in types for d in t.shape if 1 < d <= HIGH}):
            try:
                yield case, extent, with_extent(case, extent, length)
            except irtool.IrError:
                continue  # the types need a number: see tests/infer/test_lengths.py
