"""Where a model comes from: a file, bytes, or a proto that is there already."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

from ...diagnostics import Diagnostic, IrError, Source, Span
from ...files import open_file
from .mistakes import DamagedModel
from .package import onnx_package
from .recognise import is_text

External = Callable[[Any], Any] | None


def load_model(model: str | os.PathLike[str] | bytes | Any, name: str = "") -> tuple[Any, str, External]:
    """The ModelProto, the name that messages call it by, and what reads tensors whose data is in other files.

    Text in the syntax of `onnx.parser` is a model, too. Raises IrError for what is neither, OSError for an unreadable path.
    """
    onnx = onnx_package()
    if isinstance(model, onnx.ModelProto):
        return model, name or "<model>", None
    if isinstance(model, bytes):
        return parse_model(model, name or "<bytes>"), name or "<bytes>", None
    path = os.fspath(model)
    with open_file(path) as file:
        data = file.read()
    from .external import reader_beside

    return parse_model(data, path), path, reader_beside(path)


def parse_model(data: bytes, name: str) -> Any:
    """The ModelProto of a file's bytes. Raises IrError where they are none."""
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
    """What the parser says, at the place that it tells."""
    said = error.args[0] if error.args else ""
    said = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    place = re.search(r"line: (\d+) column: (\d+)", said)
    message = f"the text is no ONNX model: {said.strip().splitlines()[-1] if said.strip() else type(error).__name__}"
    if place is None:
        return Diagnostic(message, filename=name, code=DamagedModel)
    lines = text.split("\n")
    line = min(int(place[1]), len(lines))
    start = sum(len(s) + 1 for s in lines[: line - 1]) + min(max(int(place[2]) - 1, 0), len(lines[line - 1]))
    return Diagnostic(message, Span(Source(name, text), start, start + 1), code=DamagedModel)


def _first_line(error: Exception) -> str:
    return " ".join(str(error).strip().splitlines()[:1]) or type(error).__name__
