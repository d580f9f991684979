"""The shapes of known language models."""

from __future__ import annotations

from dataclasses import dataclass

FORMATS = ("Q4_0", "Q8_0")
"""The formats of all matrices."""


@dataclass(frozen=True)
class Configuration:
    """A decoder whose head is its table of embeddings.

    Attributes:
        kind: the architecture in GGUF files.
        width, inner: elements of an embedding, and between the products of a feed-forward layer.
        heads, groups, size: heads of queries, of keys and values, and elements of a head.
        base: of the angles of positions.
    """

    kind: str
    width: int
    inner: int
    layers: int
    heads: int
    groups: int
    size: int
    vocabulary: int
    base: float = 10000.0


CONFIGURATIONS = {
    "TinyStories-15M": Configuration("llama", 288, 768, 6, 6, 6, 48, 32000),
    "SmolLM-135M": Configuration("llama", 576, 1536, 30, 9, 3, 64, 49152),
    "Qwen2.5-0.5B": Configuration("qwen2", 896, 4864, 24, 14, 2, 64, 151936, 1e6),
    "Llama-3.2-1B": Configuration("llama", 2048, 8192, 16, 32, 8, 64, 128256, 500000.0),
}
"""By name, the smallest first."""
