"""Logits of a trained network with activations and caches of fewer bits, beside exact ones: the divergence of what they say of the next token."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import irtool
from irtool.quantization.weight_blocks import WeightOptions, quantize_weights

MODEL = Path(__file__).parents[2] / "samples" / "chat" / "model.gguf"
TOKENS = 200
VARIANTS = {
    "caches in float16": ("float", "float16"),
    "caches in bfloat16": ("float", "bfloat16"),
    "caches in int8": ("float", "int8"),
    "activations in int8": ("int8", ""),
    "activations in int8, caches in float16": ("int8", "float16"),
    "activations and caches in int8": ("int8", "int8"),
}
"""Activations and caches by name."""


def rows() -> Iterator[str]:
    """The table, line by line: the mean and the greatest divergence in nats, and how many of the likeliest tokens are equal."""
    module, weights = irtool.from_gguf(MODEL, {"context": "<=256", "tokens": 1})
    yield "| | mean divergence, nats | largest | equal likeliest tokens |"
    yield "|---|---|---|---|"
    exact = irtool.build(module, weights, cache=True).instance()
    rng, tokens, expected = np.random.default_rng(0), [300], []
    for _ in range(TOKENS):
        expected.append(_log_probabilities(exact, tokens[-1]))
        tokens.append(int(rng.choice(len(expected[-1]), p=np.exp(expected[-1]) / np.exp(expected[-1]).sum())))
    for name, (activations, dtype) in VARIANTS.items():
        variant, params = module, weights
        if activations == "int8":
            options = WeightOptions(dtype="", activations="int8", report=False)
            variant, params, _ = quantize_weights(module, weights, options=options)
        net = irtool.build(variant, params, cache_dtype=dtype, cache=True).instance()
        actual = [_log_probabilities(net, t) for t in tokens[:-1]]
        divergences = [float((np.exp(p) * (p - q)).sum()) for p, q in zip(expected, actual, strict=True)]
        equal = sum(p.argmax() == q.argmax() for p, q in zip(expected, actual, strict=True))
        yield f"| {name} | {np.mean(divergences):.1e} | {max(divergences):.1e} | {equal} of {TOKENS} |"


def _log_probabilities(net: Any, token: int) -> np.ndarray:
    """The logarithms of the probabilities of the next token, in float64."""
    logits = np.asarray(net.step(ids=np.array([token], "int32")))[0].astype("float64")
    shifted = logits - logits.max()
    return shifted - np.log(np.exp(shifted).sum())
