"""Attribute values as text: `strides=[2, 2], out_dtype="float32"`."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import Any

from ..ir import ANY, Expr, GlobalVar, Int64
from ..ir.attributes import stated
from ..ir.meta import MetaNode, VirtualDevice
from ..symbolic_int import SymbolicInt
from ..trampoline import trampoline
from .literals import float_digits, string_literal
from .metadata import References, missing_reference

Steps = Generator[Any, Any, str]
_INT32 = 2147483647


class AttributeText:
    """Writes attribute values; values without a text go to the metadata, or are spelled out if none is written.

    Dictionaries are always spelled out, to show the facts of a lowered call about its function.
    """

    def __init__(self, references: References, metadata: bool) -> None:
        self.references = references
        self.metadata = metadata

    def __call__(self, value: Any) -> str:
        cls = value.__class__
        if cls is SymbolicInt:
            return self.references.formula(value)
        simple = _SIMPLE.get(cls)
        if simple is not None:
            return simple(value)
        if cls is tuple or cls is list:
            return self.listed(value)
        return trampoline(self._text(value))

    def listed(self, values: Any) -> str:
        """A list, however deeply nested."""
        out: list[str] = []
        stack: list[Any] = [values]
        while stack:
            v = stack.pop()
            if v.__class__ is _Raw:
                out.append(v)
            elif isinstance(v, tuple | list):
                out.append("[")
                stack.append(_CLOSE)
                for i, part in enumerate(reversed(v)):
                    if i:
                        stack.append(_COMMA)
                    stack.append(part)
            else:
                out.append(self(v))
        return "".join(out)

    def _text(self, value: Any) -> Steps:
        """The text of any value; dictionaries and lists in each other may be nested deeply."""
        cls = value.__class__
        if cls is SymbolicInt:
            return self.references.formula(value)
        simple = _SIMPLE.get(cls)
        if simple is not None:
            return simple(value)
        if cls is tuple or cls is list:
            if any(v.__class__ not in _SIMPLE for v in value):
                parts = []
                for v in value:
                    parts.append((yield self._text(v)))
                return f"[{', '.join(parts)}]"
            return self.listed(value)
        if value is ANY:
            return "?"
        if cls is GlobalVar:
            return f"@{value.name}" if self.metadata else f"'{value.name}'"
        if not self.metadata or cls is dict:
            return (yield self._spelled(value))
        if isinstance(value, str):
            return string_literal(value)
        return self.references.refer(value)

    def _spelled(self, value: Any) -> Steps:
        """The form that TVM's debugging output gives to values that it would otherwise put into the metadata."""
        if isinstance(value, dict):
            # the one key that TVM writes bare is that of attributes inside of attributes
            entries = []
            for k, v in value.items():
                entries.append((k if k == "__dict__" else self(k), (yield self._entry(k, v))))
            return _braced(entries)
        if missing_reference(value) is not None:
            return self.references.refer(value)
        if isinstance(value, VirtualDevice):
            return _device(value)
        if isinstance(value, MetaNode) and value.type_key == "Target":
            return target_text(value)
        fields: Iterable[tuple[str, Any]] | None = None
        if isinstance(value, MetaNode) and value.type_key.endswith("Attrs"):
            fields = value.fields.items()
        elif hasattr(value, "__dataclass_fields__") and not isinstance(value, Expr):
            fields = stated(value)
        if fields is None:
            return self.references.refer(value)
        entries = []
        for k, v in fields:
            entries.append((k, (yield self._text(v))))
        return _braced(entries)

    def _entry(self, key: Any, value: Any) -> Steps:
        """A value of a dictionary; functions that were lowered stand there by name, as TVM shows them."""
        if key == "all_prim_fn_vars" and isinstance(value, tuple) and all(isinstance(v, GlobalVar) for v in value):
            return f"[{', '.join(repr(v.name) for v in value)}]"
        return (yield self._text(value))


def _braced(entries: list[tuple[str, str]]) -> str:
    return "{" + ", ".join(f"{k}={v}" for k, v in entries) + "}"


def _device(d: VirtualDevice) -> str:
    fields = []
    if d.device_type >= 0:
        fields.append(f"device_type={d.device_type}")
    if d.virtual_device_id >= 0:
        fields.append(f"virtual_device_id={d.virtual_device_id}")
    if d.target is not None:
        fields.append(f"target={target_text(d.target)}")
    if d.memory_scope:
        fields.append(f"memory_scope='{d.memory_scope}'")
    return f"VirtualDevice({', '.join(fields) or '?'})"


def target_text(target: MetaNode) -> str:
    """A target as TVM's debugging output shows it; its `id` there is an address, which is 0 here."""
    open_calls = 0
    node: Any = target
    out: list[str] = []
    while isinstance(node, MetaNode):
        kind = node.fields.get("kind", "")
        name = kind.fields.get("name", "") if isinstance(kind, MetaNode) else kind
        fields = ["id=0", f"kind='{name}'"]
        if node.fields.get("tag"):
            fields.append(f"tag='{node.fields['tag']}'")
        if node.fields.get("keys"):
            fields.append(f"keys={{{', '.join(repr(k) for k in node.fields['keys'])}}}")
        attrs = node.fields.get("attrs") or {}
        if attrs:
            fields.append(f"attrs={{{', '.join(f'{k!r}: {_option(attrs[k])}' for k in sorted(attrs))}}}")
        node = node.fields.get("host")
        out.append(f"Target({', '.join(fields)}" + (", host=" if isinstance(node, MetaNode) else ""))
        open_calls += 1
    return "".join(out) + ")" * open_calls


def _option(value: Any) -> str:
    return string_literal(value) if isinstance(value, str) else repr(value)


class _Raw(str):
    """Text that is written as it is."""

    __slots__ = ()


_CLOSE = _Raw("]")
_COMMA = _Raw(", ")

_SIMPLE: dict[type, Callable[[Any], str]] = {
    int: lambda v: str(v) if -_INT32 - 1 <= v <= _INT32 else f"{v}i64",  # as a number without suffix is read
    bool: str,
    str: string_literal,
    float: lambda v: float_digits(v) + "f",
    type(None): str,
    Int64: lambda v: f"{int(v)}i64",
    SymbolicInt: str,
}
