"""Files in formats other than Relay text: their format is named before a parser sees their first bytes."""

from __future__ import annotations

import re

from ..diagnostics import IrError
from ..frontends.gguf.recognise import is_gguf
from ..frontends.onnx.recognise import is_binary
from ..frontends.tflite.recognise import is_tflite
from .mistakes import ForeignFile

_LOOKED_AT = 1 << 16
_BYTES: tuple[tuple[bytes, str, str], ...] = (
    (b"PK\x03\x04", "a zip archive (.npz, .zip, a PyTorch model)", ""),
    (b"PK\x05\x06", "an empty zip archive", ""),
    (b"\x1f\x8b", "compressed with gzip", "unpack it first: gunzip -c FILE | irtool opt -"),
    (b"\xfd7zXZ\0", "compressed with xz", "unpack it first: xz -dc FILE | irtool opt -"),
    (b"BZh", "compressed with bzip2", "unpack it first: bunzip2 -c FILE | irtool opt -"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd", "unpack it first: zstd -dc FILE | irtool opt -"),
    (b"\x93NUMPY", "an array of numpy (.npy)", "give it as a value: --input NAME=FILE.npy"),
    (b"\xb7\x9c\x04\x05\x4f\x8d\xe5\xf7", "a parameter file (.params)", "give it beside the text: --params FILE"),
    (b"\x7fELF", "a program or a library (ELF)", ""),
    (b"\x89HDF\r\n\x1a\n", "HDF5, as of Keras (.h5)", ""),
    (b"\x80\x02", "a pickle of Python", ""),
    (b"\x80\x04", "a pickle of Python", ""),
    (b"\xff\xfe", "not UTF-8 but UTF-16", "write it as UTF-8: iconv -f UTF-16 -t UTF-8 FILE"),
    (b"\xfe\xff", "not UTF-8 but UTF-16", "write it as UTF-8: iconv -f UTF-16 -t UTF-8 FILE"),
)
_TEXTS: tuple[tuple[re.Pattern[str], str, str], ...] = (
    (
        re.compile(r"(?:import|from)[ \t]+[A-Za-z_][\w.]*(?:[ \t]+(?:import|as)\b|[ \t]*(?:,|;|\r?\n|$))|#!.*\bpython"),
        "Python",
        "in Python, print(module) or irtool.to_text(module) writes the text of a Relay module",
    ),
    (re.compile(r"\s*@(?:I\.ir_module|T\.prim_func|R\.function|tvm\.script)\b"), "TVMScript", ""),
    (re.compile(r"\s*(?:module\b[^\n]*\{|func\.func\b|#\w+ = #|builtin\.module\b)"), "MLIR", ""),
    (re.compile(r"\s*<(?:!doctype|html|\?xml)", re.IGNORECASE), "a web page or XML", ""),
    (re.compile(r"\s*<<<<<<< "), "a text with conflicts of a merge", "resolve them first"),
    (re.compile(r'\s*(?:\{\s*"|\[\s*[{"])'), "JSON", ""),
    (re.compile(r"version https://git-lfs"), "a pointer of Git LFS", "fetch it: git lfs pull"),
)


def refuse_foreign_bytes(data: bytes, name: str) -> None:
    """Raises IrError for a file whose first bytes are those of a format that is no text."""
    for start, kind, help in _BYTES:
        if data.startswith(start):
            raise _refusal(name, kind, help)
    if is_binary(data):
        raise _refusal(name, "protobuf, as of an ONNX model", "")
    if is_tflite(data):
        raise _refusal(name, "a TensorFlow Lite model", "")
    if is_gguf(data):
        raise _refusal(name, "a GGUF file", "")


def refuse_foreign_text(text: str, name: str) -> None:
    """Raises IrError for a text in another language that no Relay text begins like."""
    start = _after_comments(text[:_LOOKED_AT])
    for pattern, kind, help in _TEXTS:
        if pattern.match(start):
            raise _refusal(name, kind, help)


def _after_comments(text: str) -> str:
    """The text after the blank lines and the comments of Python or Relay at the start; `#[version…]` and `#!` stay."""
    offset = 0
    for line in text.splitlines(keepends=True):
        bare = line.strip()
        if bare and not re.match(r"//|#(?![\[!\w])", bare):
            break
        offset += len(line)
    return text[offset:]


def _refusal(name: str, kind: str, help: str) -> IrError:
    return IrError(f"this is {kind}, not Relay text", filename=name, help=help, code=ForeignFile)
