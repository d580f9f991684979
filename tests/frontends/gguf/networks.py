"""Decoders with random weights in GGUF files, and their evaluation in numpy by the definition, in float64, all tokens at once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.frontends.gguf.files import gguf

WORDS, WIDTH, INNER, HEADS, GROUPS, SIZE, LAYERS, CONTEXT = 48, 32, 64, 4, 2, 8, 2, 64


@dataclass(frozen=True)
class Network:
    """A decoder of an architecture.

    Attributes:
        metadata: numbers beside those that every file has.
        parts: tensors of a layer beside the seven products, with their shapes.
        others: tensors beside layers.
        is_tied: the head is the table of embeddings.
    """

    kind: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    parts: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    others: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    is_tied: bool = False
    gated: bool = True
    layer_norm: bool = False
    alibi: float = 0.0


BIASES = {"attn_q.bias": (HEADS * SIZE,), "attn_k.bias": (GROUPS * SIZE,), "attn_v.bias": (GROUPS * SIZE,)}
NORMS_BEHIND = {"post_attention_norm.weight": (WIDTH,), "post_ffw_norm.weight": (WIDTH,)}
ALL_BIASES = {
    **BIASES,
    "attn_output.bias": (WIDTH,),
    "ffn_up.bias": (INNER,),
    "ffn_down.bias": (WIDTH,),
    "attn_norm.bias": (WIDTH,),
}
FUSED = {"attn_qkv.weight": ((HEADS + 2 * GROUPS) * SIZE, WIDTH)}
LONGER = {"rope.scaling.factor": 4.0, "rope.scaling.original_context_length": 16}
HALF = SIZE // 2
NETWORKS = {
    "llama": Network("llama"),
    "llama, one embedding": Network("llama", is_tied=True),
    "llama, factors": Network("llama", others={"rope_freqs.weight": (SIZE // 2,)}),
    "llama, linear scaling": Network("llama", {"rope.scaling.type": "linear", "rope.scaling.factor": 4.0}),
    "llama, yarn": Network("llama", {"rope.scaling.type": "yarn", "rope.freq_base": 50.0, **LONGER}),
    "llama, longrope": Network(
        "llama",
        {"rope.scaling.type": "longrope", "rope.scaling.attn_factor": 1.2, **LONGER},
        others={"rope_factors_short.weight": (HALF,), "rope_factors_long.weight": (HALF,)},
    ),
    "llama, longrope, short": Network(
        "llama",
        {"rope.scaling.type": "longrope", **LONGER, "rope.scaling.original_context_length": CONTEXT},
        others={"rope_factors_short.weight": (HALF,), "rope_factors_long.weight": (HALF,)},
    ),
    "qwen2": Network("qwen2", {"rope.freq_base": 500.0}, BIASES),
    "qwen3": Network("qwen3", parts={"attn_q_norm.weight": (SIZE,), "attn_k_norm.weight": (SIZE,)}),
    "gemma": Network("gemma", is_tied=True),
    "gemma2": Network(
        "gemma2",
        {"attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0, "attention.sliding_window": 5},
        NORMS_BEHIND,
        is_tied=True,
    ),
    "phi2": Network(
        "phi2",
        {"rope.dimension_count": 4},
        ALL_BIASES,
        {"output_norm.bias": (WIDTH,), "output.bias": (WORDS,)},
        gated=False,
        layer_norm=True,
    ),
    "bloom": Network(
        "bloom",
        parts={
            **{k: s for k, s in ALL_BIASES.items() if k[:7] not in ("attn_q.", "attn_k.", "attn_v.")},
            **FUSED,
            "attn_qkv.bias": ((HEADS + 2 * GROUPS) * SIZE,),
            "ffn_norm.bias": (WIDTH,),
        },
        others={"token_embd_norm.weight": (WIDTH,), "token_embd_norm.bias": (WIDTH,), "output_norm.bias": (WIDTH,)},
        is_tied=True,
        gated=False,
        layer_norm=True,
        alibi=8.0,
    ),
    "mpt": Network(
        "mpt", {"attention.max_alibi_bias": 4.0}, FUSED, is_tied=True, gated=False, layer_norm=True, alibi=4.0
    ),
}
"""Networks by name."""


def shapes_of(n: Network) -> dict[str, tuple[int, ...]]:
    """The shapes of its tensors by name."""
    layer = {
        "attn_norm.weight": (WIDTH,),
        **(
            {}
            if n.alibi
            else {
                "attn_q.weight": (HEADS * SIZE, WIDTH),
                "attn_k.weight": (GROUPS * SIZE, WIDTH),
                "attn_v.weight": (GROUPS * SIZE, WIDTH),
            }
        ),
        "attn_output.weight": (WIDTH, HEADS * SIZE),
        "ffn_up.weight": (INNER, WIDTH),
        "ffn_down.weight": (WIDTH, INNER),
        **({"ffn_gate.weight": (INNER, WIDTH)} if n.gated else {}),
        **({} if n.kind == "phi2" else {"ffn_norm.weight": (WIDTH,)}),
        **n.parts,
    }
    shapes = {"token_embd.weight": (WORDS, WIDTH), "output_norm.weight": (WIDTH,), **n.others}
    if not n.is_tied:
        shapes["output.weight"] = (WORDS, WIDTH)
    return shapes | {f"blk.{i}.{p}": s for i in range(LAYERS) for p, s in layer.items()}


def weights_of(n: Network, seed: int = 0) -> dict[str, np.ndarray]:
    """Random weights whose products keep the size of numbers."""
    rng = np.random.default_rng(seed)
    return {
        name: (1 + 0.3 * rng.standard_normal(s) if name.endswith(("norm.weight", "freqs.weight", "short.weight", "long.weight")) else
               rng.standard_normal(s) * (0.3 if len(s) == 1 else 1.5 / math.sqrt(s[-1]))).astype("float32")
        for name, s in shapes_of(n).items()
    }  # fmt: skip


def metadata_of(n: Network) -> dict[str, Any]:
    """The numbers of its file."""
    epsilon = "attention.layer_norm_epsilon" if n.layer_norm else "attention.layer_norm_rms_epsilon"
    values: dict[str, Any] = {
        "block_count": LAYERS,
        "context_length": CONTEXT,
        "embedding_length": WIDTH,
        "feed_forward_length": INNER,
        "attention.head_count": HEADS,
        "attention.head_count_kv": GROUPS,
        "attention.key_length": SIZE,
        "attention.value_length": SIZE,
        **({} if n.alibi else {"rope.dimension_count": SIZE}),
        epsilon: 1e-5,
        **n.metadata,
    }
    return {"general.architecture": n.kind} | {f"{n.kind}.{k}": v for k, v in values.items()}


def file_of(n: Network, seed: int = 0) -> bytes:
    """Its file."""
    return gguf(metadata_of(n), weights_of(n, seed))


def logits(n: Network, weights: Mapping[str, Any], tokens: list[int]) -> np.ndarray:
    """The logits behind the last token, in float64."""
    w = {k: np.asarray(v).astype(np.float64) for k, v in weights.items()}
    m, count = n.metadata, len(tokens)
    turning, base = m.get("rope.dimension_count", SIZE), m.get("rope.freq_base", 10000.0)
    frequencies = base ** (-np.arange(0, turning, 2) / turning) / w.get("rope_freqs.weight", 1.0)
    frequencies, magnitude = scaled(frequencies, base, turning, m, w)
    turns = magnitude * np.exp(1j * np.arange(count)[:, None] * frequencies)
    is_gemma = n.kind.startswith("gemma")

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        centred = x - x.mean(-1, keepdims=True) if n.layer_norm else x
        y = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * w[f"{name}.weight"]
        return y + w.get(f"{name}.bias", 0.0)

    def dense(x: np.ndarray, name: str) -> np.ndarray:
        return x @ w[f"{name}.weight"].T + w.get(f"{name}.bias", 0.0)

    def rotate(x: np.ndarray) -> np.ndarray:
        x = x.copy()
        if n.alibi:
            return x
        pairs = (slice(0, turning, 2), slice(1, turning, 2)) if n.kind == "llama" else (
            slice(0, turning // 2), slice(turning // 2, turning))  # fmt: skip
        z = (x[:, pairs[0]] + 1j * x[:, pairs[1]]) * turns
        x[:, pairs[0]], x[:, pairs[1]] = z.real, z.imag
        return x

    def activation(x: np.ndarray) -> np.ndarray:
        if n.kind == "mpt":
            return x * (0.5 + 0.5 * np.vectorize(math.erf)(x / math.sqrt(2)))
        if is_gemma or n.kind in ("phi2", "bloom"):
            return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
        return x / (1 + np.exp(-x))

    x = w["token_embd.weight"][tokens] * (math.sqrt(WIDTH) if is_gemma else 1.0)
    if "token_embd_norm.weight" in w:
        x = norm(x, "token_embd_norm")
    distance = np.arange(count)[:, None] - np.arange(count)
    for i in range(LAYERS):
        b = f"blk.{i}."
        y = norm(x, f"{b}attn_norm")
        if n.alibi:
            q, k, v = np.split(dense(y, f"{b}attn_qkv"), [HEADS * SIZE, (HEADS + GROUPS) * SIZE], -1)
        else:
            q, k, v = (dense(y, f"{b}attn_{p}") for p in "qkv")
        seen = distance >= 0
        if "attention.sliding_window" in m and i % 2 == 0:
            seen = seen & (distance < m["attention.sliding_window"])
        columns = []
        for h in range(HEADS):
            g = h // (HEADS // GROUPS)
            own, keys = q[:, h * SIZE :][:, :SIZE], k[:, g * SIZE :][:, :SIZE]
            if f"{b}attn_q_norm.weight" in w:
                own, keys = norm(own, f"{b}attn_q_norm"), norm(keys, f"{b}attn_k_norm")
            scores = rotate(own) @ rotate(keys).T / math.sqrt(SIZE)
            cap = m.get("attn_logit_softcapping")
            scores = cap * np.tanh(scores / cap) if cap else scores
            scores = scores - distance * 2.0 ** (-n.alibi * (h + 1) / HEADS) if n.alibi else scores
            scores = np.where(seen, np.exp(scores), 0.0)
            columns.append(scores / scores.sum(-1, keepdims=True) @ v[:, g * SIZE :][:, :SIZE])
        attended = dense(np.concatenate(columns, -1), f"{b}attn_output")
        if f"{b}post_attention_norm.weight" in w:
            attended = norm(attended, f"{b}post_attention_norm")
        if n.kind != "phi2":
            x = x + attended
            y = norm(x, f"{b}ffn_norm")
        up = dense(y, f"{b}ffn_up")
        inner = activation(dense(y, f"{b}ffn_gate")) * up if n.gated else activation(up)
        fed = dense(inner, f"{b}ffn_down")
        if f"{b}post_ffw_norm.weight" in w:
            fed = norm(fed, f"{b}post_ffw_norm")
        x = x + fed + (attended if n.kind == "phi2" else 0.0)
    x = norm(x[-1], "output_norm")
    y = dense(x, "output") if "output.weight" in w else x @ w["token_embd.weight"].T
    cap = m.get("final_logit_softcapping")
    return cap * np.tanh(y / cap) if cap else y


def scaled(
    frequencies: np.ndarray, base: float, turning: int, m: Mapping[str, Any], w: Mapping[str, np.ndarray]
) -> tuple[np.ndarray, float]:
    """The frequencies for a longer context, and the factor of cosines and sines, as the configurations of transformers define them."""
    kind, factor = m.get("rope.scaling.type"), m.get("rope.scaling.factor", 1.0)
    original = m.get("rope.scaling.original_context_length", CONTEXT)
    if kind == "linear":
        return frequencies / factor, 1.0
    if kind == "longrope":
        length = "long" if original < CONTEXT else "short"
        return frequencies / w[f"rope_factors_{length}.weight"], m.get("rope.scaling.attn_factor", 1.0)
    if kind != "yarn":
        return frequencies, 1.0
    fast, slow = (turning * math.log(original / (t * 2 * math.pi)) / (2 * math.log(base)) for t in (32, 1))
    low, high = max(math.floor(fast), 0), min(math.ceil(slow), turning - 1)
    own = 1 - np.clip((np.arange(turning // 2) - low) / max(high - low, 0.001), 0, 1)
    return frequencies / factor * (1 - own) + frequencies * own, 0.1 * math.log(factor) + 1
