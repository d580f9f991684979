"""The cases of operators (`irtool.ops.cases`) as calls with values: name, arguments, attributes."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

from irtool.driver.operator_cases import arguments_of
from irtool.ops import operators
from irtool.ops.cases import cases_of

Call = tuple[str, list[Any], dict[str, Any]]


@cache
def accepted_calls(name: str) -> tuple[Call, ...]:
    """The calls of an operator that its cases say are accepted."""
    case_arguments = (arguments_of(case) for case in cases_of(operators.get(name)) if not case.refusal)
    return tuple((cls.name, arguments, attributes) for cls, arguments, attributes in case_arguments)


@cache
def calls_of_family(package: str) -> tuple[Call, ...]:
    """The accepted calls of the operators that are defined in `irtool.ops.PACKAGE`."""
    inside = [cls.name for cls in operators if cls.__module__.startswith(f"irtool.ops.{package}.")]
    return tuple(case for name in inside for case in accepted_calls(name))


@cache
def layers() -> dict[str, Call]:
    """The accepted calls of layers by name, numbered by operator, so that a new case moves no other."""
    before: Counter[str] = Counter()
    by_name: dict[str, Call] = {}
    for case in (*calls_of_family("nn"), *calls_of_family("qnn")):
        by_name[f"layer {case[0]} {before[case[0]]}"] = case
        before[case[0]] += 1
    return by_name
