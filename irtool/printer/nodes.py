"""The metadata section: TVM's JSON form of a graph of objects, with its layout and its numbering of nodes.

Node 0 is null; node 1 is the map from type key to list; every other node is numbered when the walk first meets it, before
its parts, and these come in the order of `records`. In the text the fields stand sorted. Tensors are kept apart, as base64
of their binary form.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Iterator, Mapping
from typing import Any

from ..ir import ANY, Constant
from ..ir.ndarray import header, stored_bytes
from .records import Describer, Part, Record, Tensor

_CHUNK = 3 << 20
"""Bytes of a tensor that are turned into base64 at a time; a multiple of 3."""


def section(entries: Mapping[str, list[Any]]) -> Iterator[str]:
    """The pieces of the section's text for these objects by type key."""
    graph = _Graph()
    # TVM gathers the lists in a hash table that gives them back last first.
    graph.index({key: tuple(entries[key]) for key in reversed(list(entries))})
    yield '{\n  "root": 1, \n  "nodes": [\n'
    for i, record in enumerate(graph.records):
        yield ("    " if i == 0 else ", \n    ") + graph.node_text(record)
    yield '\n  ], \n  "b64ndarrays": ['
    for i, constant in enumerate(graph.tensors):
        yield '\n    "' if i == 0 else ', \n    "'
        yield from _base64(constant)
        yield '"'
    yield "\n  ], \n" if graph.tensors else "], \n"
    yield '  "attrs": {"tvm_version": "0.10.0"}\n}'


def _base64(constant: Constant) -> Iterator[str]:
    """The base64 of a tensor, a piece at a time, so that it is never held as a whole in more than one form."""
    array: Any = constant.data
    body = stored_bytes(array, constant.dtype)
    head = header(array.shape, constant.dtype, body.nbytes)
    first = min(-len(head) % 3, len(body))
    yield binascii.b2a_base64(head + body[:first].tobytes(), newline=False).decode("ascii")
    for start in range(first, len(body), _CHUNK):
        yield binascii.b2a_base64(body[start : start + _CHUNK].data, newline=False).decode("ascii")


class _Graph:
    """Numbers the nodes below a root."""

    def __init__(self) -> None:
        self.records: list[Record] = [Record("")]
        self.tensors: list[Constant] = []
        self.numbers: dict[int, int] = {}
        self.alive: list[Any] = []
        self.tensor_numbers: dict[int, int] = {}
        self.describer = Describer()

    def index(self, root: Any) -> None:
        """Gives every node below `root` its record and number, in TVM's order."""
        stack = [Part(root)]
        while stack:
            part = stack.pop()
            value = part.value
            shared = not isinstance(value, _VALUES) or part.listed
            number = self.numbers.get(id(value)) if shared else None
            if value is None:
                number = 0
            if number is None:
                number = len(self.records)
                if shared:
                    self.numbers[id(value)] = number
                self.alive.append(value)
                record = self.describer.describe(value)
                self.records.append(record)
                for i, (name, field) in enumerate(record.fields):
                    if isinstance(field, Tensor):
                        record.fields[i] = (name, str(self._tensor(field.constant)))
                parts = [f for _, f in record.fields if isinstance(f, Part)]
                record.parts = [Part(p, bool(p) and p.__class__ is str) for p in record.parts]
                stack.extend(reversed(parts + record.parts))
            part.value = number

    def _tensor(self, constant: Constant) -> int:
        known = self.tensor_numbers.get(id(constant.data))
        if known is None:
            known = self.tensor_numbers[id(constant.data)] = len(self.tensors)
            self.tensors.append(constant)
        return known

    def node_text(self, r: Record) -> str:
        """A node as TVM's JSON writer lays it out."""
        lines = [f'"type_key": {_quote(r.key)}']
        if r.text:
            if r.text.isascii() and r.text.isprintable():
                lines.append(f'"repr_str": {_quote(r.text)}')
            else:
                raw = r.text.encode("utf-8", "surrogateescape")
                lines.append(f'"repr_b64": "{base64.b64encode(struct.pack("<Q", len(raw)) + raw).decode("ascii")}"')
        if r.fields:
            fields = [
                f"{_quote(name)}: {_quote(str(value.value) if isinstance(value, Part) else value)}"
                for name, value in sorted(r.fields, key=lambda f: f[0])
            ]
            if len(fields) == 1:
                lines.append('"attrs": {' + fields[0] + "}")
            else:
                lines.append('"attrs": {\n        ' + ", \n        ".join(fields) + "\n      }")
        if r.keys:
            lines.append('"keys": [\n        ' + ", \n        ".join(map(_quote, r.keys)) + "\n      ]")
        if r.parts:
            numbers = [str(p.value) for p in r.parts]
            if len(numbers) > 10:
                lines.append('"data": [\n        ' + ", \n        ".join(numbers) + "\n      ]")
            else:
                lines.append(f'"data": [{", ".join(numbers)}]')
        return "{\n      " + ", \n      ".join(lines) + "\n    }"


_VALUES = (int, float, str, tuple, list, type(ANY))
"""What is written again wherever it stands; all else is written once and referred to."""


def _quote(text: str) -> str:
    """A JSON string."""
    if '"' in text or "\\" in text or not text.isprintable():
        for plain, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
            text = text.replace(plain, escaped)
    return f'"{text}"'
