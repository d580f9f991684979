"""OpenVINO GenAI on a folder of `openvino_model`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Engine:
    """The network of a model; caches in float16, other settings as they are by default."""

    def __init__(self, folder: str, threads: int) -> None:
        import openvino_genai

        self._api: Any = openvino_genai
        settings = {"INFERENCE_NUM_THREADS": threads, "KV_CACHE_PRECISION": "f16"}
        self._pipeline = openvino_genai.LLMPipeline(folder, "CPU", **settings)

    def generate(self, prompt: Sequence[int], following: Sequence[int]) -> None:
        """Reads a prompt at once, and as many tokens of its own as follow, one by one: the pipeline takes none from outside."""
        import numpy as np
        import openvino

        ids = openvino.Tensor(np.array([prompt], np.int64))
        inputs = self._api.TokenizedInputs(ids, openvino.Tensor(np.ones((1, len(prompt)), np.int64)))
        config = self._api.GenerationConfig()
        config.max_new_tokens, config.ignore_eos, config.do_sample = len(following) + 1, True, False
        self._pipeline.generate(inputs, config)
