"""Types of a small part of C, operands, and numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ..builder import float_bits

_INTS = {"int": ("i32", True), "short": ("i16", True), "size_t": ("i64", False)}
_INTS |= {f"{u}int{w}_t": (f"i{w}", not u) for u in ("", "u") for w in (8, 16, 32, 64)}


@dataclass(frozen=True)
class Type:
    """`element` is float, double or iN; `lanes` 0 for a scalar; `pointer`: the address of one."""

    element: str
    signed: bool = True
    lanes: int = 0
    pointer: bool = False

    def __str__(self) -> str:
        if self.pointer:
            return "ptr"
        return f"<{self.lanes} x {self.element}>" if self.lanes else self.element

    @property
    def is_float(self) -> bool:
        return self.element in ("float", "double")

    @property
    def bits(self) -> int:
        return {"float": 32, "double": 64}.get(self.element) or int(self.element[1:])


INT, LONG, BOOL = Type("i32"), Type("i64"), Type("i1", False)
FLOAT, DOUBLE = Type("float"), Type("double")


def named_type(word: str) -> Type | None:
    """The type of that name, `irt_f32x16` among them."""
    if word in _INTS:
        return Type(*_INTS[word])
    if word in ("float", "double"):
        return Type(word)
    match = re.fullmatch(r"irt_([fiu])(\d+)x(\d+)(_u)?", word)
    if match is None:
        return None
    kind, width = match[1], int(match[2])
    element = {32: "float", 64: "double"}[width] if kind == "f" else f"i{width}"
    return Type(element, kind != "u", int(match[3]))


@dataclass
class Value:
    """An operand with its type. `place`: the location for assignments: a stack slot, and the lane of a vector in it."""

    type: Type
    text: str
    place: str = ""
    lane: str = ""
    literal: bool = False


@dataclass
class Compiled:
    """A function: its name, its text, and its callees: functions of ours, and declarations of others."""

    name: str
    lines: list[str]
    calls: dict[str, None] = field(default_factory=dict)
    declares: dict[str, None] = field(default_factory=dict)


def number(word: str) -> Value:
    """The operand of a number in C: `0x7fffffffu`, `1.5f`, `3`."""
    if word[:2].lower() == "0x" and "p" not in word.lower():
        value = int(word.rstrip("uUlL"), 16)
        is_long, unsigned = "l" in word.lower(), "u" in word.lower() or value >> 31 == 1
        is_long |= value >> 32 > 0
        return Value(Type("i64" if is_long else "i32", not unsigned), str(value), literal=True)
    if word[:2].lower() == "0x" or any(c in word for c in ".eE"):
        single = word[-1] in "fF"
        digits = word.rstrip("fF") if single else word
        real = float.fromhex(digits) if digits[:2].lower() == "0x" else float(digits)
        return Value(FLOAT if single else DOUBLE, float_bits(real, single), literal=True)
    digits = word.rstrip("uUlL")
    t = Type("i64" if "l" in word.lower() or int(digits) >> 31 else "i32", "u" not in word.lower())
    return Value(t, digits, literal=True)
