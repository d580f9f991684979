"""The metadata section at the end of a text: a graph of TVM's records as JSON, tensors in base64.

`nodes` is a list of records; a record refers to others by their numbers, number 0 is null. Which of a record's fields are such
references and which are plain values its type key decides; for operator attributes the operator's own fields do. Records are
made into IR nodes when they are asked for, without recursion, each once: what is shared in the section is shared in the IR.
"""

from __future__ import annotations

import binascii
import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..diagnostics import IrError, Span
from ..ir import (
    Constant,
    DimVar,
    MissingData,
    TensorType,
    Type,
)
from ..ir.boxed_attributes import BOXED
from ..ir.meta import MetaNode, VirtualDevice
from ..ir.ndarray import decode
from .mistakes import DamagedMetadata
from .records import (
    BUILDERS,
    NAMED,
    NUMBERS,
    REFERENCES,
    TIR_REFERENCES,
    Fields,
    build_arithmetic,
    plain_value,
    string_of,
)

if TYPE_CHECKING:
    from ..ops.base import Operator

_HEADER = re.compile(r"^(?:#\[\s*metadata\s*\]|METADATA:)", re.MULTILINE)


def find_section(text: str) -> int:
    """The start of a text's metadata section, or -1. It goes to the end of the text."""
    offset = text.find("#[metadata]")
    if offset < 0 or (offset > 0 and text[offset - 1] != "\n"):
        match = _HEADER.search(text) if "metadata" in text or "METADATA:" in text else None
        return match.start() if match is not None else -1
    return offset


def read_index(word: str) -> tuple[str, int | None]:
    """Type key and index of `meta[key][index]`."""
    key, _, index = word[5:-1].partition("][")
    return key, int(index) if index.isdecimal() and len(index) < 8 else None


def _version(attrs: Any) -> tuple[int, ...]:
    """Major and minor of the `tvm_version` among the attributes of a section; empty where it has none."""
    text = attrs.get("tvm_version") if isinstance(attrs, dict) else None
    version = re.match(r"(\d{1,4})\.(\d{1,4})\b", text) if isinstance(text, str) else None
    return (int(version[1]), int(version[2])) if version else ()


class Metadata:
    """The contents of the section of one text; `get` makes the objects."""

    def __init__(self, text: str = "", start: int = -1) -> None:
        """Reads the section that starts at offset `start` of `text` (-1: the text has none). Raises IrError if it is damaged."""
        self.is_present = start >= 0
        self.nodes: list[dict[str, Any]] = []
        self.tensors: list[Any] = []
        self.entries: dict[str, list[int]] = {}
        self.objects: dict[int, Any] = {}
        self._attributes: dict[int, Any] = {}
        self._claimed: set[int] | None = None
        self._missing: dict[tuple[str, int], Any] = {}
        self.version: tuple[int, ...] = ()
        """The version of TVM that wrote the section, `(0, 19)`; empty where it does not say."""
        self.missing_records: dict[str, Span | None] = {}
        """Where the first reference stands to each record that is in a section that is not there."""
        if start >= 0:
            header = _HEADER.match(text, start)
            self._read(text, header.end() if header is not None else start)

    @property
    def missing_constants(self) -> int:
        """The number of expressions in a missing section."""
        return len(self._missing) - len(self.missing_records)

    def _read(self, text: str, start: int) -> None:
        while start < len(text) and text[start].isspace():
            start += 1
        try:
            graph, end = json.JSONDecoder(strict=False, parse_constant=_no_number).raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            deep = isinstance(error, RecursionError)
            reason = "it is nested too deeply" if deep else getattr(error, "msg", str(error))
            raise IrError(f"the metadata section is not JSON: {reason}", code=DamagedMetadata) from None
        if text[end : end + 64].strip():
            raise IrError("the metadata section is followed by other text", code=DamagedMetadata)
        try:
            self.version = _version(graph.get("attrs"))
            self.nodes = graph["nodes"]
            self.tensors = graph.get("b64ndarrays", [])
            root = self.nodes[int(graph["root"])]
            if not isinstance(self.nodes, list) or not isinstance(self.tensors, list):
                raise TypeError
            if text.find("\\u", start, end) >= 0 and _SURROGATE.search(text, start, end):
                _check_characters(graph)
            if root["type_key"] != "Map":
                raise KeyError
            for record in self.nodes:
                _check_record(record)
            for key, array in zip(root.get("keys", ()), root.get("data", ()), strict=True):
                self.entries[key] = list(map(int, self.nodes[array].get("data", ())))
        except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError):
            raise IrError(
                "the metadata section is not a map from type keys to lists of nodes", code=DamagedMetadata
            ) from None

    def get(self, key: str, index: int) -> Any:
        """The object behind `meta[key][index]`. Raises IrError for a missing or damaged one."""
        entries = self.entries.get(key)
        if entries is None:
            from ..diagnostics import nearest

            raise IrError(f"the metadata section has no {key}", help=nearest(key, self.entries), code=DamagedMetadata)
        if index >= len(entries):
            raise IrError(
                f"the metadata section has {len(entries)} of {key}; there is no number {index}", code=DamagedMetadata
            )
        return self.make(entries[index])

    def missing_constant(
        self, key: str, index: int, find_type: Callable[[], Type | None], span: Span | None
    ) -> Constant:
        """The constant of that number in a section that is not there: the same object each time.

        It stands for other expressions, too: text spells all of these out, but a key may say anything.
        """
        constant = self._missing.get((key, index))
        if constant is None:
            known = find_type()
            dtype = known.dtype if isinstance(known, TensorType) else ""
            constant = self._missing[key, index] = Constant(MissingData(index, key), dtype, known, span)
        elif constant.type_annotation is None:
            known = find_type()
            if known is not None:
                constant.type_annotation = known
                constant.dtype = known.dtype if isinstance(known, TensorType) else ""
        return constant

    def missing_record(self, key: str, index: int, span: Span | None) -> MetaNode | VirtualDevice | DimVar:
        """A placeholder for any other object in a missing section: the same one each time."""
        result = self._missing.get((key, index))
        if result is None:
            if key.startswith("tir."):
                result = DimVar(f"{key[4:]}_{index}", "int32", key == "tir.SizeVar", (key, index))
            elif key == "VirtualDevice":
                result = VirtualDevice(missing=index)
            else:
                result = MetaNode(key, None, index)
            self._missing[key, index] = result
            self.missing_records[f"meta[{key}][{index}]"] = span
        return result

    def _missing_below(self, key: str, index: int) -> Any:
        """A placeholder for a part of an object of this section that was missing already when the section was written."""
        if key.startswith("relay.") and not key.startswith("relay.attrs."):
            return self.missing_constant(key, index, lambda: None, None)
        return self.missing_record(key, index, None)

    # ---- from records to objects

    def make(self, number: int) -> Any:
        """The object of a node and, before it, of all nodes that it refers to."""
        objects = self.objects
        if number in objects:
            return objects[number]
        open_nodes: set[int] = set()
        stack = [number]
        while stack:
            n = stack[-1]
            if n in objects:
                stack.pop()
                continue
            record = self._record(n)
            below = [r for r in self._references(record) if r not in objects]
            if n in open_nodes:
                if below:
                    raise IrError(f"node {n} of the metadata section refers to itself", code=DamagedMetadata)
                objects[n] = self._build(n, record)
                open_nodes.discard(n)
                stack.pop()
                continue
            open_nodes.add(n)
            for r in below:
                if r in open_nodes:
                    raise IrError(f"node {r} of the metadata section refers to itself", code=DamagedMetadata)
            stack.extend(reversed(below))
        return objects[number]

    def _record(self, number: int) -> dict[str, Any]:
        if not 0 <= number < len(self.nodes):
            raise IrError(f"the metadata section has no node {number}", code=DamagedMetadata)
        return self.nodes[number]

    def _references(self, record: dict[str, Any]) -> list[int]:
        """The numbers of the nodes that a record needs."""
        key = record["type_key"]
        try:
            if key in ("Array", "Map"):
                return list(map(int, record.get("data", ())))
            attrs = record.get("attrs") or {}
            names: tuple[str, ...] | None = REFERENCES.get(key)
            if names is None:
                if key.startswith("tir."):
                    names = TIR_REFERENCES
                elif key.startswith("relay.attrs."):
                    return []
                else:
                    return [int(v) for v in attrs.values() if self._seems_reference(v)]
            return [int(attrs[n]) for n in names if n in attrs]
        except (TypeError, ValueError, AttributeError):
            raise IrError(f"a {key} of the metadata section is damaged", code=DamagedMetadata) from None

    def _build(self, number: int, record: dict[str, Any]) -> Any:
        key = record["type_key"]
        try:
            return self._build_known(number, key, record)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
            detail = f": {error}" if isinstance(error, ValueError) and error.args else ""
            raise IrError(
                f"the {key or 'null'} in node {number} of the metadata section is damaged{detail}", code=DamagedMetadata
            ) from None

    def _build_known(self, number: int, key: str, record: dict[str, Any]) -> Any:
        if key == "":
            return None
        if key == "Array":
            return tuple([self.objects[int(n)] for n in record.get("data", ())])
        if key == "Map":
            values = [self.objects[int(n)] for n in record.get("data", ())]
            if "keys" in record:
                return dict(zip(record["keys"], values, strict=True))
            return dict(zip(values[::2], values[1::2], strict=True))
        if key in NAMED and "attrs" not in record:
            return NAMED[key](string_of(record))
        attrs = record.get("attrs") or {}
        if list(attrs) == ["missing"]:
            return self._missing_below(key, int(attrs["missing"]))
        if key.startswith("relay.attrs."):
            node = MetaNode(key, attrs)
            self._attributes[id(node)] = node
            return node
        build = BUILDERS.get(key)
        if build is not None:
            return build(Fields(attrs, self))
        if key.startswith("tir."):
            return build_arithmetic(key[4:], Fields(attrs, self))
        return MetaNode(
            key, {n: self.objects[int(v)] if self._seems_reference(v) else plain_value(v) for n, v in attrs.items()}
        )

    def tensor(self, number: int) -> tuple[Any, str]:
        """The array number `number` of the section and its dtype; decoded on first use, and its text is let go."""
        if not 0 <= number < len(self.tensors):
            raise ValueError(f"there is no tensor {number}")
        encoded = self.tensors[number]
        if isinstance(encoded, str):
            try:
                data = binascii.a2b_base64(encoded, strict_mode=True)
            except binascii.Error as error:
                raise ValueError(f"tensor {number} is not base64 ({str(error).lower()})") from None
            del encoded
            self.tensors[number] = None
            array, dtype, end = decode(data)
            if end != len(data):
                raise ValueError(f"tensor {number} has {len(data) - end} bytes too many")
            encoded = self.tensors[number] = (array, dtype)
        return encoded

    # ---- attributes of operators

    def attributes(self, node: MetaNode, operator: type[Operator]) -> dict[str, Any]:
        """The fields of a `relay.attrs.X` record as values for that operator."""
        from ..plugin import type_hints

        if id(node) not in self._attributes:
            return dict(node.fields)
        hints = type_hints(operator)
        return {n: self._attribute(node.type_key, n, v, hints.get(n, Any)) for n, v in node.fields.items()}

    def _attribute(self, key: str, name: str, text: str, hint: Any) -> Any:
        from ..ops.base import DType

        accepted_types = set(_kinds(hint))
        if DType in accepted_types or text == "":
            return text
        number = int(text) if re.fullmatch(r"\d{1,9}", text) else -1
        refers = 0 < number < len(self.nodes)
        target = str(self.nodes[number].get("type_key", "")) if refers else ""
        if tuple in accepted_types or dict in accepted_types:
            return None if number == 0 else self.make(number)
        if str in accepted_types:
            if refers and target == "runtime.String":
                return self.make(number)
            return None if number == 0 and type(None) in accepted_types else text
        if number == 0 and type(None) in accepted_types:
            return None
        if accepted_types & {int, bool, float} or not (accepted_types - {type(None)} or target.startswith("relay.")):
            is_open = type(None) in accepted_types or not accepted_types
            if (
                refers
                and _may_be_number(target)
                and (name in BOXED.get(key, ()) or (is_open and self._holds_references(key, name)))
            ):
                return self.make(number)
            return plain_value(text)
        return self.make(number) if number >= 0 and (number == 0 or target) else plain_value(text)

    def _holds_references(self, key: str, name: str) -> bool:
        """True if the field of this type key, which may be null, is a boxed number, not a plain one.

        Text does not tell `4` from node 4. But every node is reachable, so a number that nothing else refers to must be what
        such a field refers to; and all fields of one name and type key are alike.
        """
        values = [r["attrs"][name] for r in self.nodes if r.get("type_key") == key and name in (r.get("attrs") or {})]
        numbers = [int(v) for v in values if v.isdecimal() and v != "0"]
        if any(not v.isdecimal() for v in values):
            return False
        if any(n >= len(self.nodes) or not _may_be_number(self.nodes[n].get("type_key")) for n in numbers):
            return False
        return any(n not in self._claims() for n in numbers)

    def _claims(self) -> set[int]:
        """The nodes that are surely referred to."""
        if self._claimed is None:
            self._claimed = set()
            for record in self.nodes:
                key = record.get("type_key", "")
                if key in ("Array", "Map") or key in REFERENCES or key.startswith("tir."):
                    self._claimed.update(self._references(record))
        return self._claimed

    def _seems_reference(self, value: Any) -> bool:
        """For records that nothing is known of: whether a field's text is the number of a node that nothing else needs."""
        if not isinstance(value, str) or not re.fullmatch(r"\d{1,9}", value):
            return False
        number = int(value)
        return number < len(self.nodes) and (number == 0 or number not in self._claims())


_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is not a number of JSON")


def _check_characters(graph: Any) -> None:
    """Raises ValueError if a string holds half of a character, which no text can be written with."""
    stack = [graph]
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            if not value.isascii():
                value.encode("utf-8")
        elif isinstance(value, dict):
            stack += [*value, *value.values()]
        elif isinstance(value, list):
            stack += value


def _check_record(record: Any) -> None:
    """Raises TypeError if a node has not the form that TVM writes."""
    if not isinstance(record["type_key"], str):
        raise TypeError
    if not all(isinstance(k, str) and isinstance(v, str) for k, v in record.get("attrs", {}).items()):
        raise TypeError
    if not all(isinstance(n, int) for n in record.get("data", ())):
        raise TypeError
    if not all(isinstance(k, str) for k in record.get("keys", ())):
        raise TypeError


def _kinds(hint: Any) -> list[Any]:
    import types
    import typing

    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return [k for a in typing.get_args(hint) for k in _kinds(a)]
    return [origin or hint] if hint is not Any else []


def _may_be_number(key: Any) -> bool:
    """True if nodes of this type key stand for numbers: constants, and those that are known only when a program runs."""
    return key in NUMBERS or str(key).startswith("tir.")
