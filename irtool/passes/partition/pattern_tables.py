"""Tables of patterns by name: the files of the folder `tables`, those of `libraries`, and registered ones."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from ...diagnostics import UsageError, nearest
from ...files import read_bytes
from ...ir import Expr
from ..dataflow import DFPattern
from .pattern_file import read_patterns

Entry = tuple[str, DFPattern, Callable[[Expr], bool]]
"""The name of a composite function, its pattern, and whether a match is wanted."""

_TABLES = Path(__file__).with_name("tables")
_registered: dict[str, list[Entry]] = {}


def register_pattern_table(name: str, entries: Iterable[Sequence[Any]]) -> None:
    """Adds a table of (name, pattern) or (name, pattern, check), or replaces the one of that name."""
    _registered[name] = [_entry(e) for e in entries]


def table_names() -> list[str]:
    """The names of all tables."""
    from .libraries import libraries

    return sorted({*_registered, *libraries(), *(p.stem for p in _TABLES.glob("*.patterns"))})


def read_table(name: str) -> list[tuple[str, DFPattern]]:
    """The patterns of a file of the folder `tables`, with their names."""
    return _read(_TABLES / f"{name}.patterns", f"{name}.patterns")


def pattern_table(table: str | Sequence[Any]) -> list[Entry]:
    """The entries of a table: one with a name, a file, or a list of entries and of tables.

    Raises UsageError if there is no such table, IrError where a file cannot be understood.
    """
    if isinstance(table, str):
        return _named(table)
    entries: list[Entry] = []
    for item in table:
        entries += _named(item) if isinstance(item, str) else [_entry(item)]
    return entries


def _named(name: str) -> list[Entry]:
    if name in _registered:
        return _registered[name]
    from .libraries import libraries

    if name in libraries():
        return list(libraries()[name].composites())
    if name in table_names():
        return [_entry(e) for e in read_table(name)]
    if name.endswith(".patterns") or Path(name).is_file():
        return [_entry(e) for e in _read(Path(name), name)]
    have = ", ".join(table_names())
    message = f"there is no table of patterns {name} (there are {have}, and files that end in .patterns)"
    raise UsageError(message, help=nearest(name, table_names()))


def _read(path: Path, shown: str) -> list[tuple[str, DFPattern]]:
    try:
        text = read_bytes(path).decode("utf-8")
    except OSError as error:
        raise UsageError(f"cannot read {shown}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"cannot read {shown}: it is not UTF-8 ({error.reason})") from None
    return list(_understood(text, shown))


@functools.lru_cache(maxsize=16)
def _understood(text: str, shown: str) -> tuple[tuple[str, DFPattern], ...]:
    """The patterns of a text: a pass asks for them anew for each function."""
    return tuple(read_patterns(text, shown))


def _entry(item: Any) -> Entry:
    if isinstance(item, list | tuple) and len(item) in (2, 3):
        name, pattern, *check = item
        if isinstance(name, str) and isinstance(pattern, DFPattern) and (not check or callable(check[0])):
            return name, pattern, check[0] if check else _always
    raise UsageError("an entry of a table of patterns is (name, pattern) or (name, pattern, check)")


def _always(e: Expr) -> bool:
    return True
