"""Cases of operators: one line of Relay for a call, with its expected result.

::

    %x: Tensor[(3), float32] = [-1, 0, 2] | nn.relu(%x) == [0, 0, 2]
    %x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32] | nn.conv2d(%x, %w) -> Tensor[(1, 4, 6, 6), float32]
    %x: Tensor[(2, 3), int8] = -128..127 | reshape(%x, newshape=[4, 2]) ! (2, 3); (4, 2)

Before the bar are parameters, each with its type and, where it matters, its value: one in JSON's form, or a range from which
elements are drawn evenly, both ends included. Other values are drawn as the operator wants them (`Operator.typical`). Behind the
bar is a call of the operator. `->` says the type of the result, `==` its value, and `!` words of the error that refuses the
call, divided by `;`.

The cases of an operator stand in its class (`cases`), as lines of a string, or in the file beside its module that has the
same name and ends in `.cases`, among those of its family; lines that begin with `#` are remarks.

A line of such a file may also say how far operators may be from the exact result, in each dtype or in some::

    within 4 units: exp log sin
    within 2 units of float16 bfloat16: tanh

Units are in the last place of the dtype, the result's, where it is exact at twice the precision (`bounds_of`).
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..diagnostics import IrError
from .base import Operator

_PARAMETER = re.compile(r"%(?P<name>\w+): (?P<type>.+?)(?: = (?P<value>.+))?$")
_NEXT_PARAMETER = re.compile(r", (?=%\w+: )")
_CALL = re.compile(r"([A-Za-z_][\w.]*)\(")
_BOUND = re.compile(r"within (?P<units>[\d.]+) units(?: of (?P<dtypes>[\w ]+))?: (?P<names>[\w. ]+)$")
FLOATS = ("float16", "bfloat16", "float32", "float64")
_RANGE = re.compile(r"(-?[\d.e+-]+?)\.\.(-?[\d.e+-]+)$")


@dataclass(frozen=True)
class Range:
    """Elements drawn evenly from `low` to `high`, both included."""

    low: float
    high: float


@dataclass(frozen=True)
class Case:
    """One case.

    Attributes:
        line: its text.
        place: the file and line where it stands.
        operator: the name of the operator that is called.
        parameters: names, the texts of types, and the stated value: a nested list or number, a `Range`, or None.
        body: the call.
        type: the text of the result's type; empty if the case does not say it.
        value: the result as nested lists; None if the case does not say it.
        refusal: words of the error; empty if the call is accepted.
    """

    line: str
    place: str
    operator: str
    parameters: tuple[tuple[str, str, Any], ...]
    body: str
    type: str
    value: Any
    refusal: tuple[str, ...]

    @property
    def program(self) -> str:
        """The call as a module."""
        params = ", ".join(f"%{name}: {type}" for name, type, _ in self.parameters)
        return f'#[version = "0.0.5"]\ndef @main({params}) {{\n  {self.body}\n}}\n'


def read_case(line: str, place: str) -> Case:
    """The case that a line says. Raises IrError, naming `place`, for one that has another form."""
    before, bar, rest = line.strip().partition("| ")
    rest, _, refusal = rest.partition(" ! ")
    rest, _, value = rest.partition(" == ")
    body, _, type = rest.partition(" -> ")
    called = _CALL.match(body.rpartition("; ")[2].strip())
    if not bar or called is None:
        raise IrError(f"{place}: a case is written as PARAMETERS | CALL, not {line.strip()!r}")
    parameters = [_read_parameter(text, place) for text in _NEXT_PARAMETER.split(before.strip()) if text]
    fragments = tuple(w.strip() for w in refusal.split(";") if w.strip())
    expected = _read_value(value, place) if value else None
    return Case(line.strip(), place, called[1], tuple(parameters), body.strip(), type.strip(), expected, fragments)


def _read_parameter(text: str, place: str) -> tuple[str, str, Any]:
    match = _PARAMETER.match(text)
    if match is None:
        raise IrError(f"{place}: a parameter is written as %NAME: TYPE or %NAME: TYPE = VALUE, not {text!r}")
    return match["name"], match["type"], _read_value(match["value"], place) if match["value"] else None


def _read_value(text: str, place: str) -> Any:
    match = _RANGE.match(text.strip())
    try:
        return Range(float(match[1]), float(match[2])) if match else json.loads(text)
    except ValueError:
        raise IrError(f"{place}: {text!r} is neither a value in JSON's form nor a range LOW..HIGH") from None


def bounds_of(cls: type[Operator]) -> dict[str, float]:
    """By dtype, how many units in the last place an operator may be from the exact result, as the file of its family says.

    Empty where the file says nothing. Raises IrError for a wrong line.
    """
    path = _family(cls)
    bounds: dict[str, float] = {}
    for n, line in _lines(path) if path else ():
        if not line.startswith("within "):
            continue
        bound = _BOUND.match(line)
        dtypes = (bound["dtypes"] or " ".join(FLOATS)).split() if bound else []
        if bound is None or not set(dtypes) <= set(FLOATS):
            raise IrError(f"{path.name}:{n}: a bound is written as within N units of DTYPES: NAMES, not {line!r}")  # type: ignore[union-attr]  # only a path has lines
        if cls.name in bound["names"].split():
            bounds |= dict.fromkeys(dtypes, float(bound["units"]))
    return bounds


def cases_of(cls: type[Operator]) -> list[Case]:
    """The cases of an operator: those in its class, then those in the file of its family. Raises IrError for a wrong line."""
    stated = cls.__dict__.get("cases", "")
    own = [read_case(line, f"the cases of {cls.name}") for line in stated.splitlines() if line.strip()]
    stray = next((case for case in own if case.operator != cls.name), None)
    if stray is not None:
        raise IrError(f"{stray.place}: this is a call of {stray.operator}: {stray.line}")
    path = _family(cls)
    family = _read_file(path) if path else ()
    return [*own, *(case for case in family if case.operator == cls.name)]


def _family(cls: type[Operator]) -> Path | None:
    """The file of cases beside the module of an operator, which may be missing."""
    source = getattr(sys.modules.get(cls.__module__), "__file__", None)
    return Path(source).with_suffix(".cases") if source else None


@lru_cache(maxsize=256)
def _read_file(path: Path) -> tuple[Case, ...]:
    return tuple(read_case(line, f"{path.name}:{n}") for n, line in _lines(path) if not line.startswith("within "))


@lru_cache(maxsize=256)
def _lines(path: Path) -> tuple[tuple[int, str], ...]:
    """The lines of a file that say something, with their numbers."""
    if not path.is_file():
        return ()
    lines = enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
    return tuple((n, line.strip()) for n, line in lines if line.strip() and not line.startswith("#"))
