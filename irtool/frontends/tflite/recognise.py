"""Recognition of TensorFlow Lite models by their first bytes. Nothing here needs a package."""

from __future__ import annotations


def is_tflite(data: bytes) -> bool:
    """True for bytes that begin like a FlatBuffer with the identifier of TensorFlow Lite models, of schema version 3."""
    return data[4:8] == b"TFL3"
