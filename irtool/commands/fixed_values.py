"""`--value NAME=…`: parameters that become constants."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from .mistakes import BadValue, ClashingOptions

if TYPE_CHECKING:
    from ..parser.params import ParameterFile

_NUMBER = r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?"


def read_fixed(ctx: click.Context, option: click.Parameter, items: tuple[str, ...]) -> dict[str, str]:
    """The values by name, as text. Raises UsageError for an item without a name or a value."""
    from ..diagnostics import UsageError

    result: dict[str, str] = {}
    for item in items:
        name, equals, value = item.partition("=")
        name = name.strip().removeprefix("%")
        if not equals or not name or not value.strip():
            raise UsageError(
                f"cannot read the value {item!r}", help="write NAME=5, NAME=1,2 or NAME=FILE.npy", code=BadValue
            )
        if name in result:
            raise UsageError(f"--value is given twice for {name}", code=ClashingOptions)
        result[name] = value.strip()
    return result


def fixed_arrays(values: Mapping[str, str]) -> ParameterFile:
    """The arrays of the values: from files, and from Python's numbers and lists, which take a parameter's dtype. Raises IrError for
    an unreadable file.
    """
    from ..parser.params import ParameterFile

    return ParameterFile("--value", {name: _value(name, text) for name, text in values.items()})


def _value(name: str, text: str) -> Any:
    from .source import read_array

    if re.fullmatch(rf"{_NUMBER}", text):
        return _number(text)
    if re.fullmatch(rf"\[?\s*{_NUMBER}(\s*,\s*{_NUMBER})*\s*,?\s*\]?", text):
        return [_number(p) for p in text.strip("[]").split(",") if p.strip()]
    return read_array(text, name)


def _number(text: str) -> float:
    return float(text) if re.search(r"[.eE]", text) else int(text)
