"""The error that a call has no form in ONNX."""

from __future__ import annotations


class NoForm(Exception):
    """A call has no form in ONNX; the text says why, as a clause."""
