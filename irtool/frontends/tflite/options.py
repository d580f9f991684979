"""The attributes of an operator, whatever table of the schema has them, by names in the style of Python."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

Budget = Callable[[int], None]
"""Charges a number of elements that are about to be read; raises IrError for more than the file can have."""

_WORDS = re.compile(r"(?<!^)(?=[A-Z][a-z])|(?<=[a-z0-9])(?=[A-Z])")


def snake_case(name: str) -> str:
    """`DilationWFactor` as `dilation_w_factor`."""
    return _WORDS.sub("_", name).lower()


@cache
def option_fields(cls: type) -> tuple[tuple[str, str], ...]:
    """The fields of a class of the schema, and the kind of each: `scalar`, `vector` or `table`."""
    methods = [m for m in vars(cls) if m[0].isupper() and not m.startswith("GetRootAs") and m != "Init"]
    vectors = {m[: -len("Length")] for m in methods if m.endswith("Length") and m[: -len("Length")] in methods}
    derived = {f"{v}{end}" for v in vectors for end in ("Length", "AsNumpy", "IsNone")}
    own = [m for m in methods if m not in derived and not m.endswith("BufferHasIdentifier")]
    return tuple((m, "vector" if m in vectors else "scalar") for m in own)


def read_options(cls: type, table: Any, charge: Budget) -> dict[str, Any]:
    """The fields of an options table by name; integers, floats, booleans, bytes, and tuples of these."""
    options = cls()
    options.Init(table.Bytes, table.Pos)
    values: dict[str, Any] = {}
    for name, kind in option_fields(cls):
        read = getattr(options, name)
        if kind == "scalar":
            value = read()
            if value is None or isinstance(value, bool | int | float | bytes):
                values[snake_case(name)] = value
            continue
        count = getattr(options, f"{name}Length")()
        charge(count)
        values[snake_case(name)] = tuple(_plain(read(i), charge) for i in range(count))
    return values


def _plain(element: Any, charge: Budget) -> Any:
    """An element of a vector; a table as the dictionary of its fields."""
    if isinstance(element, bool | int | float | bytes) or element is None:
        return element
    return read_options(type(element), element._tab, charge)


@cache
def default_options(cls: type) -> dict[str, Any]:
    """The fields of a table that sets none: a table whose list of fields is empty."""
    import flatbuffers

    empty = bytearray(b"\x04\x00\x04\x00\x04\x00\x00\x00")  # the list of fields, 4 bytes long, and the table, 4 bytes
    return read_options(cls, flatbuffers.table.Table(empty, 4), lambda n: None)
