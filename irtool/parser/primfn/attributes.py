"""The attributes of a primfn: `attr = {"global_symbol": "f", "tir.noalias": True, "target": Target(…)}`."""

from __future__ import annotations

import re
from typing import Any

from ...ir.meta import MetaNode
from ..literals import read_string
from .tokens import Tokens

_DEEPEST = 100
"""Lists, mappings and records within each other."""

_NAMED = {"True": True, "False": False, "None": None, "nullptr": None}
_REAL = re.compile(r"f(16|32|64)?$")


def read_attributes(tokens: Tokens) -> dict[str, Any]:
    """The entries between braces, the first of which is next: strings to values."""
    tokens.expect("{")
    return _mapping(tokens, 0)


def _mapping(tokens: Tokens, depth: int) -> dict[Any, Any]:
    result: dict[Any, Any] = {}
    while not tokens.skip("}"):
        if result:
            tokens.expect(",")
        first = tokens.at
        if tokens.kind != "string":
            raise tokens.unexpected("the name of an attribute")
        key = _string(tokens)
        if key in result:
            raise tokens.wrong(f"the attribute {key} is given twice", first)
        tokens.expect(":")
        result[key] = _value(tokens, depth + 1)
    return result


def _string(tokens: Tokens) -> str:
    return read_string(tokens.take())


def _value(tokens: Tokens, depth: int) -> Any:
    if depth > _DEEPEST:
        raise tokens.wrong(f"attributes nest more than {_DEEPEST} deep")
    if tokens.kind == "string":
        return _string(tokens)
    if tokens.kind == "number" or tokens.text == "-":
        return _number(tokens)
    if tokens.skip("["):
        return tuple(tokens.list_of(lambda: _value(tokens, depth + 1), "]"))
    if tokens.skip("{"):
        return _mapping(tokens, depth)
    first = tokens.at
    name = tokens.name("the value of an attribute")
    if name in _NAMED:
        return _NAMED[name]
    if tokens.skip("("):
        return _record(tokens, name, depth)
    tokens.refuse(f"{name} is no value that an attribute has here", first)


def _number(tokens: Tokens) -> int | float:
    first = tokens.at
    sign = -1 if tokens.skip("-") else 1
    text = tokens.take()
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
        raise tokens.wrong(f"{text!r} is not a number", first) from None


def _record(tokens: Tokens, name: str, depth: int) -> MetaNode:
    """`Target(id=…, kind='llvm', keys={'cpu'}, attrs={…}, host=Target(…))`, or another record by the names of its fields."""
    fields: dict[str, Any] = {}
    while not tokens.skip(")"):
        if fields:
            tokens.expect(",")
        key = tokens.name("the name of a field")
        tokens.expect("=")
        if key == "id":  # an address, in hexadecimal digits
            while tokens.text not in (",", ")") and tokens.kind in ("number", "name"):
                tokens.take()
            fields["id"] = None
        elif key == "keys" and tokens.text == "{":
            tokens.take()
            fields[key] = tuple(tokens.list_of(lambda: _value(tokens, depth + 1), "}"))
        else:
            fields[key] = _value(tokens, depth + 1)
    fields.pop("id", None)
    if name == "Target":
        fields = {"kind": "", "tag": "", "keys": (), "attrs": {}, "host": None, **fields}
    return MetaNode(name, fields)
