"""Text of one LLVM function: values by name, blocks, and stack slots at its beginning."""

from __future__ import annotations

import re
import struct


def float_bits(value: float, single: bool) -> str:
    """A literal of type float or double: the bits of a double, which LLVM accepts for both."""
    if single and value == value and abs(value) != float("inf"):
        try:
            value = struct.unpack("<f", struct.pack("<f", value))[0]
        except OverflowError:
            value = float("inf") if value > 0 else float("-inf")
    if value != value:
        return "0x7FF8000000000000"
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


class Head(str):
    """`define … {`: the first line of a function. `signature` is the part before the attributes and the brace."""

    signature: str


def head(signature: str) -> Head:
    """The first line of a function with that signature."""
    function_head = Head(f"{signature} {{")
    function_head.signature = signature
    return function_head


def whole_function(signature: str, body: str) -> list[str]:
    """The lines of a function with that signature and that body, and an empty one behind."""
    return [head(signature), *body.splitlines(), "}", ""]


class Builder:
    """Collects the lines of a function. Values are operands as text (`%x`, `3`), without their types."""

    def __init__(self, *taken: str) -> None:
        self.slots: list[str] = []
        self.lines: list[str] = []
        self._counts: dict[str, int] = dict.fromkeys(taken, 0)
        self.block = "entry"
        self.is_open = True
        """False behind an instruction that ends a block."""

    def fresh(self, hint: str) -> str:
        """A new name for a value or a block, without its mark."""
        stem = re.sub(r"[^A-Za-z0-9_]", "_", hint) or "v"
        if stem[0].isdigit():
            stem = f"v{stem}"
        count = self._counts.get(stem)
        self._counts[stem] = 0 if count is None else count + 1
        if count is None:
            return stem
        return (
            self.fresh(f"{stem}.{count + 1}".replace(".", "_"))
            if f"{stem}_{count + 1}" in self._counts
            else self._put(f"{stem}_{count + 1}")
        )

    def _put(self, name: str) -> str:
        self._counts[name] = 0
        return name

    def value(self, text: str, hint: str = "v") -> str:
        """The operand with the result of an instruction."""
        name = self.fresh(hint)
        self.do(f"%{name} = {text}")
        return f"%{name}"

    def do(self, text: str) -> None:
        """Adds an instruction without a result."""
        self.lines.append(f"  {text}")

    def slot(self, type: str, hint: str, align: int = 0) -> str:
        """A stack slot for a value, allocated at the beginning of the function."""
        name = self.fresh(hint)
        self.slots.append(f"  %{name} = alloca {type}" + (f", align {align}" if align else ""))
        return f"%{name}"

    def start(self, label: str) -> None:
        """Begins a block; an open one continues in it."""
        if self.is_open:
            self.do(f"br label %{label}")
        self.lines.append(f"{label}:")
        self.block = label
        self.is_open = True

    def jump(self, label: str) -> None:
        """Jumps to a block, if this one is open."""
        if self.is_open:
            self.do(f"br label %{label}")
        self.is_open = False

    def branch(self, cond: str, then: str, other: str) -> None:
        """Jumps to one of two blocks."""
        self.do(f"br i1 {cond}, label %{then}, label %{other}")
        self.is_open = False

    def ret(self, text: str) -> None:
        """Returns: `void`, or a type and a value."""
        if self.is_open:
            self.do(f"ret {text}")
        self.is_open = False

    def element(self, type: str, place: str, index: str, index_type: str = "i64", inside: bool = True) -> str:
        """The address of an element. `inside`: it is inside of the buffer."""
        if index == "0":
            return place
        bounds = "inbounds " if inside else ""
        return self.value(f"getelementptr {bounds}{type}, ptr {place}, {index_type} {index}", "p")

    def text(self, signature: str) -> list[str]:
        """The full function with that signature."""
        return [head(signature), "entry:", *self.slots, *self.lines, "}"]
