"""The build of irtool: a shared library with code for this processor, threads by OpenMP, and caches in float16, as llama.cpp has them."""

from __future__ import annotations

from pathlib import Path

import irtool
from irtool.driver.artifact import Artifact
from irtool.quantization.weight_blocks import WeightOptions, quantize_weights

CONTEXT = 1024
CHUNK = 128
"""Tokens of a step, at most."""


def build(model: Path, folder: Path) -> Artifact:
    """Builds a GGUF file with activations of 8 bits into a folder."""
    module, weights = irtool.from_gguf(model, {"context": f"<={CONTEXT}", "tokens": f"<={CHUNK}"})
    options = WeightOptions(dtype="", activations="int8", report=False)
    quantized = quantize_weights(module, weights, options=options)
    return irtool.build(
        quantized.module,
        quantized.params,
        cache_dtype="float16",
        name="net",
        out_dir=folder,
        openmp=True,
        verify_weights=False,
        cache=True,
    )
