"""ONNX Runtime GenAI on a folder of `onnx_model`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any


class Engine:
    """The network of a model; caches in float32, the type of its activations."""

    def __init__(self, folder: str, threads: int) -> None:
        import onnxruntime_genai as genai

        self._api: Any = genai
        config = genai.Config(folder)
        options = {"session_options": {"intra_op_num_threads": threads}}
        config.overlay(json.dumps({"model": {"decoder": options}}))
        self._model = genai.Model(config)

    def generate(self, prompt: Sequence[int], following: Sequence[int]) -> None:
        """Reads a prompt at once, and tokens one by one behind it; the logits behind each are computed."""
        parameters = self._api.GeneratorParams(self._model)
        parameters.set_search_options(max_length=1024)
        generator = self._api.Generator(self._model, parameters)
        for part in (list(prompt), *([n] for n in following)):
            generator.append_tokens(part)
            generator.get_logits()
