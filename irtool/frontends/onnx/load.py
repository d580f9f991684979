"""Loading of models: from a file, bytes, or a proto."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from ...diagnostics import Diagnostic, IrError, Source, Span, UsageError
from ...files import open_file
from .external import Elsewhere
from .mistakes import DamagedModel
from .package import onnx_package
from .recognise import is_text
from .wire import TooLarge, split

External = Callable[[Any], Any] | None


def load_model(model: str | os.PathLike[str] | bytes | Any, name: str = "") -> tuple[Any, str, External]:
    """The ModelProto, its name in messages, and a reader of tensors with external data.

    Text in the syntax of `onnx.parser` is a model, too. Data of big tensors stays in the file, or in the bytes, until it is
    asked for. Raises IrError for other objects than models, OSError for an unreadable path.
    """
    onnx = onnx_package()
    if isinstance(model, onnx.ModelProto):
        name = name or "<model>"
        return model, name, Elsewhere(name)
    inside = getattr(model, "model_proto", None)  # results of torch.onnx.export
    if isinstance(inside, onnx.ModelProto):
        return load_model(inside, name)
    if callable(getattr(model, "read", None)):
        return load_model(_contents(model), name or str(getattr(model, "name", "")))
    if isinstance(model, (bytes, bytearray, memoryview)):
        model = bytes(model)
        name = name or "<bytes>"
        small, tensors = _without_data(model, name)
        return parse_model(small, name), name, Elsewhere(name, "", tensors, model if tensors else None)
    if not isinstance(model, (str, os.PathLike)):
        from ...ir.no_module import next_step

        message = f"an ONNX model is a path, bytes, an open file or a ModelProto, not {type(model).__name__}"
        raise UsageError(message, help=next_step(model))
    path = os.fspath(model)
    folder = os.path.dirname(os.path.abspath(path))
    with open_file(path) as file, _mapped(file) as data:
        # What was left out is read by offset later on, so the parsed part and the map can go.
        small, tensors = _without_data(data, path)
    return parse_model(small, path), path, Elsewhere(path, folder, tensors)


def _contents(file: Any) -> bytes:
    """The rest of an open file. Raises UsageError for one that was opened as text and cannot give bytes."""
    data = file.read()
    if isinstance(data, str):
        data = data.encode("utf-8")  # a model in the syntax of onnx.parser
    if not isinstance(data, bytes):
        raise UsageError("a file that is open as bytes is expected", help='open(path, "rb")')
    return data


def _without_data(data: Any, name: str) -> tuple[bytes, dict[str, tuple[int, int]]]:
    """The bytes of a model to parse, and where the data is that they lack. Raises IrError if these are too many."""
    try:
        return split(data) or (bytes(data), {})
    except TooLarge:
        message = (
            f"the file has {len(data)} bytes, of which more than 2 GB are no data of initializers: no model is as large"
        )
        help = "bytes in initializers' raw_data, or in a file beside the model, may be more"
        raise IrError(message, filename=name, help=help, code=DamagedModel) from None


@contextlib.contextmanager
def _mapped(file: BinaryIO) -> Iterator[Any]:
    """The bytes of a file, of which only those that are looked at are read."""
    import mmap

    if not os.fstat(file.fileno()).st_size:  # nothing cannot be mapped
        yield b""
        return
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        yield data


def parse_model(data: bytes, name: str) -> Any:
    """The ModelProto of a file's bytes. Raises IrError for other bytes."""
    onnx = onnx_package()
    from google.protobuf.message import DecodeError

    if is_text(data):
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise IrError(f"the model is not UTF-8 text: {error.reason}", filename=name, code=DamagedModel) from None
        try:
            return onnx.parser.parse_model(text)
        except onnx.parser.ParseError as error:
            raise IrError(_parse_mistake(error, text, name)) from None
    if not data:
        raise IrError("the file is empty", filename=name, code=DamagedModel)
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(data)
    except DecodeError as error:
        raise IrError(f"the file is no ONNX model: {_first_line(error)}", filename=name, code=DamagedModel) from None
    return proto


def _parse_mistake(error: Exception, text: str, name: str) -> Diagnostic:
    """The parser's message, at the place that it gives."""
    reason = error.args[0] if error.args else ""
    reason = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
    place = re.search(r"line: (\d+) column: (\d+)", reason)
    message = (
        f"the text is no ONNX model: {reason.strip().splitlines()[-1] if reason.strip() else type(error).__name__}"
    )
    if place is None:
        return Diagnostic(message, filename=name, code=DamagedModel)
    lines = text.split("\n")
    line = min(int(place[1]), len(lines))
    start = sum(len(s) + 1 for s in lines[: line - 1]) + min(max(int(place[2]) - 1, 0), len(lines[line - 1]))
    return Diagnostic(message, Span(Source(name, text), start, start + 1), code=DamagedModel)


def _first_line(error: Exception) -> str:
    return " ".join(str(error).strip().splitlines()[:1]) or type(error).__name__
