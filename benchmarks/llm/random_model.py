"""A GGUF file with random weights: `python -m benchmarks.llm.random_model NAME FORMAT FILE`, where the package gguf is installed."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .configurations import CONFIGURATIONS


def main(name: str, form: str, path: str) -> None:
    """Writes the file. Its vocabulary and template are there because llama.cpp and OpenVINO GenAI read no file without."""
    import gguf
    from gguf.quants import quantize

    c, quantization = CONFIGURATIONS[name], getattr(gguf.GGMLQuantizationType, form)
    writer: Any = gguf.GGUFWriter(path, c.kind)
    writer.add_file_type(getattr(gguf.LlamaFileType, f"MOSTLY_{form}"))
    writer.add_block_count(c.layers)
    writer.add_context_length(2048)
    writer.add_embedding_length(c.width)
    writer.add_feed_forward_length(c.inner)
    writer.add_head_count(c.heads)
    writer.add_head_count_kv(c.groups)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(c.base)
    writer.add_rope_dimension_count(c.size)
    writer.add_vocab_size(c.vocabulary)
    _add_vocabulary(writer, c.vocabulary)
    rng = np.random.default_rng(0)

    def matrix(tensor: str, rows: int, columns: int) -> None:
        values = rng.standard_normal((rows, columns), dtype=np.float32) / np.float32(np.sqrt(columns))
        writer.add_tensor(tensor, quantize(values, quantization), raw_dtype=quantization)

    def vector(tensor: str, size: int, mean: float) -> None:
        writer.add_tensor(tensor, (mean + 0.1 * rng.standard_normal(size)).astype(np.float32))

    matrix("token_embd.weight", c.vocabulary, c.width)
    for n in range(c.layers):
        layer = f"blk.{n}."
        for norm in ("attn_norm", "ffn_norm"):
            vector(f"{layer}{norm}.weight", c.width, 1.0)
        for part, heads in (("q", c.heads), ("k", c.groups), ("v", c.groups)):
            matrix(f"{layer}attn_{part}.weight", heads * c.size, c.width)
            if c.kind == "qwen2":
                vector(f"{layer}attn_{part}.bias", heads * c.size, 0.0)
        matrix(f"{layer}attn_output.weight", c.width, c.heads * c.size)
        matrix(f"{layer}ffn_gate.weight", c.inner, c.width)
        matrix(f"{layer}ffn_up.weight", c.inner, c.width)
        matrix(f"{layer}ffn_down.weight", c.width, c.inner)
    vector("output_norm.weight", c.width, 1.0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_vocabulary(writer: Any, size: int) -> None:
    """Tokens for all bytes, as GPT-2 writes bytes, and numbered ones."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [n for n in range(256) if n not in plain]
    tokens = [chr(n if n in plain else 256 + others.index(n)) for n in range(256)]
    tokens += [f"t{n}" for n in range(size - len(tokens) - 2)] + ["<s>", "</s>"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types([*[1] * (size - 2), 3, 3])
    writer.add_token_merges(["a b"])
    writer.add_bos_token_id(size - 2)
    writer.add_eos_token_id(size - 1)
    writer.add_pad_token_id(size - 1)
    writer.add_chat_template("{{ messages }}")


if __name__ == "__main__":
    main(*sys.argv[1:])
