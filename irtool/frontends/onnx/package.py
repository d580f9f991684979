"""The `onnx` package, which only this front end needs."""

from __future__ import annotations

from typing import Any

from ...diagnostics import UsageError
from ...extras import install_line


def onnx_package() -> Any:
    """The package `onnx`, imported. Raises UsageError, which says how to install it, if it is missing."""
    try:
        import onnx
        import onnx.numpy_helper
    except ImportError as error:
        missing = error.name in (None, "onnx")
        what = "the package onnx is missing" if missing else f"the package onnx cannot be imported: {error}"
        raise UsageError(f"{what}: ONNX models are read with it", help=install_line("onnx")) from None
    return onnx
