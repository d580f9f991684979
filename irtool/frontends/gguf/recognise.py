"""Recognition of GGUF files by their first bytes. Nothing here needs a package."""

from __future__ import annotations


def is_gguf(data: bytes) -> bool:
    """True for bytes that begin like a GGUF file."""
    return data[:4] == b"GGUF"
