"""The packages `tflite` (the schema's classes) and `flatbuffers`, which only this front end needs."""

from __future__ import annotations

from typing import Any

from ...diagnostics import UsageError
from ...extras import install_line


def tflite_package() -> Any:
    """The package `tflite`, imported. Raises UsageError, which says how to install it, if it or `flatbuffers` is missing."""
    try:
        import flatbuffers  # noqa: F401  # what `tflite` itself imports only with its modules
        import tflite
    except ImportError as error:
        missing = error.name in (None, "tflite", "flatbuffers")
        name = error.name or "tflite"
        what = f"the package {name} is missing" if missing else f"the package tflite cannot be imported: {error}"
        raise UsageError(f"{what}: TensorFlow Lite models are read with it", help=install_line("tflite")) from None
    return tflite
