"""Attributes: numbers, strings, lists, dictionaries, and records like `VirtualDevice(device_type=1)`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...diagnostics import IrError, nearest
from ...ir import Int64
from ...ir.meta import MetaNode, VirtualDevice
from ...ops.base import op, operators
from ..literals import read_attribute_number, read_string
from ..mistakes import NumberOutOfRange
from .extents import Extents
from .leaves import plain_words

_LONGEST_NUMBER = 400
_DEVICE_FIELDS: Mapping[str, Any] = {
    "device_type": int,
    "virtual_device_id": int,
    "target": MetaNode | None,
    "memory_scope": str,
}


class Attributes(Extents):
    """Builds values of attributes."""

    def attribute(self, v: list, s: int, e: int) -> tuple[str, Any, int, int]:
        return v[0], v[2], s, e

    def address(self, v: list, s: int, e: int) -> tuple[str, Any, int, int]:
        return "id", None, s, e

    def positional(self, v: list, s: int, e: int) -> tuple[str, Any, int, int]:
        return "", v[0], s, e

    def entry(self, v: list, s: int, e: int) -> tuple[str, Any, int, int]:
        return read_string(v[0]), v[2], s, e

    def entry_of_value(self, v: list, s: int, e: int) -> tuple[Any, Any, int, int]:
        return v[0], v[2], s, e

    def string(self, v: list, s: int, e: int) -> str:
        return read_string(v[0])

    def attr_true(self, v: list, s: int, e: int) -> bool:
        return True

    def attr_false(self, v: list, s: int, e: int) -> bool:
        return False

    def int_list(self, v: list, s: int, e: int) -> tuple[int, ...]:
        result = self._int_lists.get(v[0])
        if result is None:
            result = self._int_lists[v[0]] = tuple(map(int, v[0][1:-1].split(",")))
        return result

    def meta_value(self, v: list, s: int, e: int) -> Any:
        from .bare_attributes import settle

        try:
            return settle(self._meta(v[0], s, e), self.metadata)
        except IrError as error:
            for d in error.diagnostics:
                self.report(replace(d, span=self.span(s, e)))
            return None

    def attr_name(self, v: list, s: int, e: int) -> Any:
        name = v[0]
        extent = self.length(name)
        if extent is not None:
            return extent
        if name in ("None", "nullptr"):
            return None
        if name in self.constructors:
            return self.constructors[name]
        if operators.find(name) is not None:
            return op(name)
        self.error(f"{name} is not a value of an attribute", s, e, help=f'a string is written "{name}"')
        return None

    def record(self, v: list, s: int, e: int) -> Any:
        return self._make_record(v[0], [], s, e)

    def record_of(self, v: list, s: int, e: int) -> Any:
        return self._make_record(v[0], v[2], s, e)

    def record_of_variables(self, v: list, s: int, e: int) -> Any:
        name, offset, leading = plain_words(v[0], s)
        fields = []
        for word in leading:
            value = (self.graph if word[1].isdecimal() else self.local)([word], offset, offset + len(word))
            fields.append(("", value, offset, offset + len(word)))
            offset += len(word) + 2
        return self._make_record(name, fields, s, e)

    def _make_record(self, name: str, fields: list, s: int, e: int) -> Any:
        record = {key or str(i): value for i, (key, value, *_) in enumerate(fields)}
        if name != "VirtualDevice":
            record.pop("id", None)
            return MetaNode(name, record)
        known = [f for f in VirtualDevice.__dataclass_fields__ if f != "missing"]
        for key, _, start, end in fields:
            if key not in known:
                self.error(f"VirtualDevice has no field {key}", start, end, help=nearest(key, known))
                return None
        wrong = next((key for key, value in record.items() if not isinstance(value, _DEVICE_FIELDS[key])), None)
        if wrong is not None:
            self.error(f"a VirtualDevice has another kind of {wrong}", s, e)
            return None
        # The metadata of a module hold these numbers without a width.
        record = {key: int(value) if isinstance(value, int) else value for key, value in record.items()}
        wide = next(
            (key for key, value in record.items() if isinstance(value, int) and not -(2**31) <= value < 2**31), None
        )
        if wide is not None:
            self.error(f"{wide}={record[wide]} does not fit 32 bits", s, e, code=NumberOutOfRange)
            return None
        return VirtualDevice(**record)

    def attr_unit(self, v: list, s: int, e: int) -> tuple:
        return ()

    def attr_list(self, v: list, s: int, e: int) -> tuple:
        return tuple(v[1])

    def attr_list_of_one(self, v: list, s: int, e: int) -> tuple:
        return (v[1],)

    def attr_longer_list(self, v: list, s: int, e: int) -> tuple:
        return (v[1], *v[3])

    def attr_empty_dict(self, v: list, s: int, e: int) -> dict:
        return {}

    def attr_dict(self, v: list, s: int, e: int) -> Mapping[Any, Any]:
        return {key: value for key, value, *_ in v[1]}

    def attr_number(self, v: list, s: int, e: int) -> int | float:
        try:
            return read_attribute_number(v[0])
        except ValueError as error:
            # -9223372036854775808 is a number, though without its sign it is none: wait for the sign
            self.doubtful[e] = (str(error), self.span(s, e))
            return 0

    def attr_negative(self, v: list, s: int, e: int) -> int | float:
        self.doubtful.pop(e, None)
        if e - s > _LONGEST_NUMBER:
            return Int64(-v[1]) if isinstance(v[1], Int64) else -v[1]
        try:
            return read_attribute_number("".join(self.source.text[s:e].split()))
        except ValueError as error:
            self.error(str(error), s, e, code=NumberOutOfRange)
            return 0
