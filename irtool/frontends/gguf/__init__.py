"""GGUF files as Relay: `from_gguf(model) -> (Module, params)`. Such a file has weights and metadata, and no graph: the architecture's name says it.

recognise      a model by its first bytes
architectures  the networks that are known, a row for each
metadata       numbers of a file's metadata, and what they say of a network
weights        the tensors that a network reads, as parameters; others, missing ones and other shapes are errors, all in one run
layers         attention over a cache, and feed-forward layers; `rotary`: the tables of angles
importer       a file as a module
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .importer import from_gguf as from_gguf


def __getattr__(name: str) -> Any:
    if name == "from_gguf":
        from .importer import from_gguf

        return from_gguf
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
