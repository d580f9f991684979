"""Recognition of ONNX models by their first bytes. Nothing here needs the `onnx` package."""

from __future__ import annotations

import re

_VERSION = rb"\x08[\x01-\x20]"
_TEXT = rb"[\x00-\x7f][\x20-\x7e]"
_BINARY = re.compile(
    _VERSION
    # the producer, its version, the domain, or the comment: strings; the version of the model; the graph; operator sets
    + rb"(?:[\x12\x1a\x22\x32](?:\x00|"
    + _TEXT
    + rb"|[\x80-\xff][\x01-\x7f][\x20-\x7e])|\x28|\x3a[\x00-\xff]|\x42[\x00-\x7f])",
    re.DOTALL,
)
"""The first two fields of a model: the version of its IR, then one of those that are written next."""
_WRITTEN = re.compile(rb"(?:\s|#[^\n]*\n)*<\s*(?:ir_version|opset_import|producer_name|model_version)\s*:")

LOOKED_AT = 1 << 16
"""Bytes of a file by which it is recognised."""


def is_text(data: bytes) -> bool:
    """True for a model in the syntax of `onnx.parser`, whose comments begin with `#`."""
    return _WRITTEN.match(data[:LOOKED_AT]) is not None


def is_binary(data: bytes) -> bool:
    """True for bytes that begin like the protobuf of a model."""
    return _BINARY.match(data[:LOOKED_AT]) is not None
