"""The architectures of networks in GGUF files: a row for each, with all that metadata and the presence of tensors do not say."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Architecture:
    """A decoder: embeddings, layers of attention and feed-forward, a norm, and a product with the head.

    Attributes:
        rotary: the numbers of a head that turn together: `neighbours`, `halves`, or `` where positions are learned, or biases of scores.
        alibi: the greatest exponent of the slopes of such biases, unless metadata have another one; 0: none.
        norm: `rms`, or `layer` with a mean and biases.
        activation: that of the feed-forward layer, an operator or a name of `layers.ACTIVATIONS`.
        is_parallel: attention and feed-forward read the same normalized data, and both are added.
        scales_embeddings: embeddings are multiplied by the root of their width.
        local_layers: with a sliding window, layer `i` has it unless `i % local_layers` is the last one; 1: all layers have it.
        local_base: the base of the angles of layers with a window, if it is another one.
    """

    rotary: str = "halves"
    alibi: float = 0.0
    norm: str = "rms"
    activation: str = "silu"
    is_parallel: bool = False
    scales_embeddings: bool = False
    local_layers: int = 1
    local_base: float | None = None


ARCHITECTURES = {
    "llama": Architecture(rotary="neighbours"),
    "qwen2": Architecture(),
    "qwen3": Architecture(),
    "gemma": Architecture(activation="gelu_tanh", scales_embeddings=True),
    "gemma2": Architecture(activation="gelu_tanh", scales_embeddings=True, local_layers=2),
    "gemma3": Architecture(activation="gelu_tanh", scales_embeddings=True, local_layers=6, local_base=10000.0),
    "phi2": Architecture(norm="layer", activation="gelu_tanh", is_parallel=True),
    "phi3": Architecture(),
    "gpt2": Architecture(rotary="", norm="layer", activation="gelu_tanh"),
    "starcoder2": Architecture(norm="layer", activation="gelu_tanh"),
    "bloom": Architecture(rotary="", alibi=8.0, norm="layer", activation="gelu_tanh"),
    "mpt": Architecture(rotary="", alibi=8.0, norm="layer", activation="gelu"),
    "granite": Architecture(rotary="neighbours"),
}
"""The architectures by their names in `general.architecture`."""
