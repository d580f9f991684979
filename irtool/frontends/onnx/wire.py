"""The bytes of a model without those of its big tensors, which are read from the file one by one, when they are wanted.

The `onnx` package parses a whole file: its bytes, the parsed model and each tensor's bytes would be in memory at once. Here
only the outermost messages are looked at, in protobuf's wire format: the model, its graph, the initializers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

LEAST = 1 << 12
"""Bytes of data from which a tensor's stay in the file."""
MOST = (1 << 31) - 1
"""Bytes that protobuf parses."""

_GRAPH, _INITIALIZER = 7, 5
_NAME, _RAW_DATA, _EXTERNAL_DATA, _DATA_LOCATION = 8, 9, 13, 14
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_IS_EXTERNAL = b"\x70\x01"
"""`data_location: EXTERNAL`"""


class TooLarge(Exception):
    """Without the data of initializers, the model is still larger than protobuf parses."""


class _NotProtobuf(ValueError):
    """The bytes are no protobuf; the package has a better message for that."""


def split(data: Any) -> tuple[bytes, dict[str, tuple[int, int]]] | None:
    """The bytes of a model in which big initializers have no data, and where that is: offset and length by name.

    Such an initializer is said to be external, without a location. None if nothing can be left out: `data` is then to
    be parsed as it is. Raises TooLarge, before anything of the data is copied, if what is to be parsed is too large for that.
    """
    ranges: dict[str, tuple[int, int]] = {}
    try:
        fields = list(_fields(data, 0, len(data)))
        graphs = {f: _outline(data, f[3], f[4], ranges) for f in fields if f[:2] == (_GRAPH, _BYTES)}
    except _NotProtobuf:
        fields, ranges = [], {}
    left_out = sum(length for _, length in ranges.values())
    if len(data) - left_out > MOST:
        raise TooLarge
    if not ranges:
        return None
    parts = [_graph(data, f[3], f[4], graphs[f]) if f in graphs else bytes(data[f[2] : f[4]]) for f in fields]
    return b"".join(parts), ranges


_Cut = tuple[int, int, tuple[int, int, int, int]]
"""An initializer that is cut: where its field begins and ends, and begin and end of its value and of the data in it."""


def _outline(data: Any, start: int, end: int, ranges: dict[str, tuple[int, int]]) -> list[_Cut]:
    """The initializers of a graph that are to be without data."""
    result = []
    for number, kind, begin, value, stop in _fields(data, start, end):
        inner = _tensor(data, value, stop, ranges) if (number, kind) == (_INITIALIZER, _BYTES) else None
        if inner is not None:
            result.append((begin, stop, (value, *inner, stop)))
    return result


def _graph(data: Any, start: int, end: int, cuts: list[_Cut]) -> bytes:
    """The field of the graph, with these initializers cut."""
    parts: list[bytes] = []
    for begin, stop, (value, tensor_end, behind, last) in cuts:
        tensor = bytes(data[value:tensor_end]) + bytes(data[behind:last]) + _IS_EXTERNAL
        parts += [bytes(data[start:begin]), _framed(_INITIALIZER, tensor)]
        start = stop
    parts.append(bytes(data[start:end]))
    return _framed(_GRAPH, b"".join(parts))


def _tensor(data: Any, start: int, end: int, ranges: dict[str, tuple[int, int]]) -> tuple[int, int] | None:
    """Begin and end of the field that has a tensor's data; None if it stays as it is."""
    if end - start < LEAST:
        return None
    name, raw, has_other = "", None, False
    for number, kind, field_start, value, stop in _fields(data, start, end):
        if (number, kind) == (_RAW_DATA, _BYTES):
            has_other |= raw is not None
            raw = (field_start, value, stop)
        elif (number, kind) == (_NAME, _BYTES):
            name = bytes(data[value:stop]).decode("utf-8", "replace")
        has_other |= number in (_EXTERNAL_DATA, _DATA_LOCATION)
    if raw is None or has_other or not name or name in ranges or raw[2] - raw[1] < LEAST:
        return None
    field_start, value, stop = raw
    ranges[name] = (value, stop - value)
    return field_start, stop


def _framed(number: int, body: bytes) -> bytes:
    length, framed = len(body), bytearray([number << 3 | _BYTES])
    while length >= 0x80:
        framed.append(length & 0x7F | 0x80)
        length >>= 7
    framed.append(length)
    return bytes(framed) + body


def _fields(data: Any, start: int, end: int) -> Iterator[tuple[int, int, int, int, int]]:
    """The fields of a message: number, kind, and the offsets of the field, of its value, and of its end."""
    offset = start
    while offset < end:
        begin = offset
        key, offset = _varint(data, offset, end)
        kind = key & 7
        if kind == _VARINT:
            value = offset
            _, offset = _varint(data, offset, end)
        elif kind == _BYTES:
            length, value = _varint(data, offset, end)
            offset = value + length
        elif kind in (_FIXED64, _FIXED32):
            value = offset
            offset += 8 if kind == _FIXED64 else 4
        else:
            raise _NotProtobuf
        if offset > end or not key >> 3:
            raise _NotProtobuf
        yield key >> 3, kind, begin, value, offset


def _varint(data: Any, offset: int, end: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if offset >= end:
            break
        byte = data[offset]
        offset += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, offset
    raise _NotProtobuf
