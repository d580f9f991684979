"""The attributes of a primfn: `attr = {"global_symbol": "f", "tir.noalias": True, "target": Target(…)}`."""

from __future__ import annotations

import re
from typing import Any

from ...ir.meta import MetaNode
from ..literals import read_string
from .tokens import Words

_DEEPEST = 100
"""Lists, mappings and records within each other."""

_NAMED = {"True": True, "False": False, "None": None, "nullptr": None}
_REAL = re.compile(r"f(16|32|64)?$")


def read_attributes(words: Words) -> dict[str, Any]:
    """The entries between braces, the first of which is next: strings to values."""
    words.expect("{")
    return _mapping(words, 0)


def _mapping(words: Words, depth: int) -> dict[Any, Any]:
    result: dict[Any, Any] = {}
    while not words.skip("}"):
        if result:
            words.expect(",")
        first = words.at
        if words.kind != "string":
            raise words.unexpected("the name of an attribute")
        key = _string(words)
        if key in result:
            raise words.wrong(f"the attribute {key} is given twice", first)
        words.expect(":")
        result[key] = _value(words, depth + 1)
    return result


def _string(words: Words) -> str:
    return read_string(words.take())


def _value(words: Words, depth: int) -> Any:
    if depth > _DEEPEST:
        raise words.wrong(f"attributes nest more than {_DEEPEST} deep")
    if words.kind == "string":
        return _string(words)
    if words.kind == "number" or words.text == "-":
        return _number(words)
    if words.skip("["):
        return tuple(words.list_of(lambda: _value(words, depth + 1), "]"))
    if words.skip("{"):
        return _mapping(words, depth)
    first = words.at
    name = words.name("the value of an attribute")
    if name in _NAMED:
        return _NAMED[name]
    if words.skip("("):
        return _record(words, name, depth)
    words.refuse(f"{name} is no value that an attribute has here", first)


def _number(words: Words) -> int | float:
    first = words.at
    sign = -1 if words.skip("-") else 1
    text = words.take()
    if text in ("inff64", "inff", "inff32"):
        return sign * float("inf")
    if text in ("nanf64", "nanf", "nanf32"):
        return float("nan")
    bare = _REAL.sub("", text)
    try:
        if bare != text or "." in bare or "e" in bare or "E" in bare:
            return sign * float(bare)
        return sign * int(bare.removesuffix("i64"))
    except ValueError:
        raise words.wrong(f"{text!r} is not a number", first) from None


def _record(words: Words, name: str, depth: int) -> MetaNode:
    """`Target(id=…, kind='llvm', keys={'cpu'}, attrs={…}, host=Target(…))`, or another record by the names of its fields."""
    fields: dict[str, Any] = {}
    while not words.skip(")"):
        if fields:
            words.expect(",")
        key = words.name("the name of a field")
        words.expect("=")
        if key == "id":  # an address, in hexadecimal digits
            while words.text not in (",", ")") and words.kind in ("number", "name"):
                words.take()
            fields["id"] = None
        elif key == "keys" and words.text == "{":
            words.take()
            fields[key] = tuple(words.list_of(lambda: _value(words, depth + 1), "}"))
        else:
            fields[key] = _value(words, depth + 1)
    fields.pop("id", None)
    if name == "Target":
        fields = {"kind": "", "tag": "", "keys": (), "attrs": {}, "host": None, **fields}
    return MetaNode(name, fields)
