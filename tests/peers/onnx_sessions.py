"""Sessions of ONNX Runtime that sum products of bytes exactly."""

from __future__ import annotations

from typing import Any


def exact_options() -> Any:
    """Options of a session. Without the entry, ONNX Runtime saturates sums of two products in 16 bits on x86 without VNNI."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.x64quantprecision", "1")
    return options
