"""Flags of a backend: fields of its dataclass, with their meanings and allowed values."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping, Sequence
from typing import Any

from ..diagnostics import UsageError, nearest

_WORDS = {"true": True, "on": True, "yes": True, "1": True, "false": False, "off": False, "no": False, "0": False}


def flag(default: Any, meaning: str, choices: Sequence[str] = ()) -> Any:
    """A field of a backend. `choices`: the words that its value, or each item of a tuple, may be."""
    return dataclasses.field(default=default, metadata={"meaning": meaning, "choices": tuple(choices)})


def read_flag(field: dataclasses.Field, hint: Any, value: Any) -> Any:
    """A value from a command line, from Python or from a target's text, converted to the type of the field.

    A bool may be a word (`on`, `false`); a tuple may be text with commas; a bool stands for the words `auto` and `none` if these
    are choices. Raises UsageError for anything else.
    """
    choices: tuple[str, ...] = field.metadata.get("choices", ())
    value = "none" if value is None else value  # the word, as texts of plug-ins are read
    if hint is bool:
        truth = _WORDS.get(str(value).lower()) if isinstance(value, str | int) else None
        if truth is None:
            raise UsageError(f"{field.name}={value!r} is not one of true, false")
        return truth
    if typing.get_origin(hint) is tuple:
        items = value.split(",") if isinstance(value, str) else value
        if not isinstance(items, list | tuple) or not all(isinstance(v, str) for v in items):
            raise UsageError(f"{field.name}={value!r} is not a list of words")
        values = tuple(dict.fromkeys(v.strip() for v in items if v.strip()))
        for item in values:
            _check_choice(field.name, item, choices)
        return values
    if isinstance(value, bool) and {"auto", "none"} <= set(choices):
        value = "auto" if value else "none"
    if isinstance(value, int | float) and not isinstance(value, bool) and hint is str:
        value = str(value)
    if isinstance(hint, type) and not isinstance(value, hint):
        raise UsageError(f"{field.name}={value!r} is not {'text' if hint is str else f'of type {hint.__name__}'}")
    if choices:
        _check_choice(field.name, str(value), choices)
    return value


def merge_flags(*sources: Mapping[str, Any]) -> dict[str, Any]:
    """The flags of several places. None means no value.

    Raises UsageError for different values of a flag.
    """
    flags: dict[str, Any] = {}
    for source in sources:
        for name, value in source.items():
            if flags.get(name) is None:
                flags[name] = value
            elif value is not None and flags[name] != value:
                raise UsageError(f"the flag {name} is given twice: {show_flag(flags[name])} and {show_flag(value)}")
    return flags


def show_flag(value: Any) -> str:
    """A value as text in a target."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(map(show_flag, value))}]"
    if isinstance(value, int | float):
        return str(value)
    text = str(value)
    plain = text.replace("-", "").replace("_", "").replace(".", "").isalnum() and text[:1].isalpha()
    return text if plain else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    if choices and value not in choices:
        raise UsageError(f"{name}={value!r} is not one of {', '.join(choices)}", help=nearest(value, choices))
