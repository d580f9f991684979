"""llama.cpp through the functions of llama-cpp-python, which are those of its C library."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any


class Engine:
    """The network of a GGUF file, mapped into memory; caches in float16, as it has them by default."""

    def __init__(self, path: str, threads: int) -> None:
        import llama_cpp

        self._api: Any = llama_cpp
        llama_cpp.llama_backend_init()
        parameters = llama_cpp.llama_model_default_params()
        model = llama_cpp.llama_model_load_from_file(path.encode(), parameters)
        if not model:
            raise RuntimeError("the model cannot be loaded")
        options = llama_cpp.llama_context_default_params()
        options.n_ctx, options.n_batch, options.n_ubatch = 1024, 512, 512
        options.n_threads = options.n_threads_batch = threads
        self._context = llama_cpp.llama_init_from_model(model, options)

    def generate(self, prompt: Sequence[int], following: Sequence[int]) -> None:
        """Reads a prompt at once, and tokens one by one behind it; the logits behind each part are computed."""
        self._api.llama_memory_clear(self._api.llama_get_memory(self._context), True)
        for part in (prompt, *([n] for n in following)):
            ids = (ctypes.c_int32 * len(part))(*part)
            if self._api.llama_decode(self._context, self._api.llama_batch_get_one(ids, len(part))):
                raise RuntimeError("a step failed")
            self._api.llama_get_logits_ith(self._context, -1)
