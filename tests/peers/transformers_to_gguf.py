"""Networks of transformers as GGUF files, as llama.cpp's converter writes them: names of tensors, and numbers of the configuration."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from tests.frontends.gguf.files import gguf

NAMES = {
    "model.embed_tokens": "token_embd",
    "transformer.wte": "token_embd",
    "transformer.wpe": "position_embd",
    "model.norm": "output_norm",
    "model.final_layernorm": "output_norm",
    "transformer.ln_f": "output_norm",
    "lm_head": "output",
    "input_layernorm": "attn_norm",
    "ln_1": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "ln_2": "ffn_norm",
    "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.qkv_proj": "attn_qkv",
    "attn.c_attn": "attn_qkv",
    "self_attn.o_proj": "attn_output",
    "self_attn.dense": "attn_output",
    "attn.c_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.gate_up_proj": "ffn_up",
    "mlp.fc1": "ffn_up",
    "mlp.c_fc": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "mlp.fc2": "ffn_down",
    "mlp.c_proj": "ffn_down",
    "transformer.word_embeddings": "token_embd",
    "transformer.word_embeddings_layernorm": "token_embd_norm",
    "self_attention.query_key_value": "attn_qkv",
    "self_attention.dense": "attn_output",
    "mlp.dense_h_to_4h": "ffn_up",
    "mlp.dense_4h_to_h": "ffn_down",
    "transformer.norm_f": "output_norm",
    "norm_1": "attn_norm",
    "attn.Wqkv": "attn_qkv",
    "attn.out_proj": "attn_output",
    "norm_2": "ffn_norm",
    "ffn.up_proj": "ffn_up",
    "ffn.down_proj": "ffn_down",
}
"""The names of tensors; those of gemma2 and gemma3 have a norm behind attention in place of that before the feed-forward part."""


def file_of(model: Any, architecture: str) -> bytes:
    """The file of a causal language model in float32."""
    config = model.config
    tensors = {}
    for name, parameter in model.named_parameters():
        array = parameter.detach().numpy().astype("float32")
        base, _, kind = name.rpartition(".")
        layer = re.fullmatch(r"(?:model\.layers|transformer\.(?:h|blocks))\.(\d+)\.(.+)", base)
        key = layer[2] if layer else base
        place = NAMES[key]
        if architecture in ("gemma2", "gemma3") and key == "post_attention_layernorm":
            place = "post_attention_norm"
        if architecture.startswith("gemma") and "norm" in key:
            array = array + 1
        if architecture == "gpt2" and kind == "weight" and ".c_" in name:
            array = array.T
        if architecture in ("llama", "granite") and key in ("self_attn.q_proj", "self_attn.k_proj"):
            heads = config.num_attention_heads if "q_proj" in key else config.num_key_value_heads
            array = array.reshape(heads, 2, -1, *array.shape[1:]).swapaxes(1, 2).reshape(array.shape)
        if key == "self_attention.query_key_value":  # the three parts of each head lie together
            parts = array.reshape(config.n_head, 3, -1, *array.shape[1:])
            array = parts.swapaxes(0, 1).reshape(array.shape)
        tensors[f"blk.{layer[1]}.{place}.{kind}" if layer else f"{place}.{kind}"] = np.ascontiguousarray(array)
    return gguf(_metadata(config, architecture), tensors | _factors(config))


def _factors(c: Any) -> dict[str, np.ndarray]:
    """The divisors of frequencies for longer contexts, as the converter computes or copies them."""
    rope = getattr(c, "rope_parameters", None) or {}
    if rope.get("rope_type") == "longrope":
        lengths = ("short", "long")
        return {f"rope_factors_{n}.weight": np.array(rope[f"{n}_factor"], "float32") for n in lengths}
    if rope.get("rope_type") != "llama3":
        return {}
    size = c.hidden_size // c.num_attention_heads
    turns = (
        rope["original_max_position_embeddings"] * rope["rope_theta"] ** (-np.arange(0, size, 2) / size) / (2 * np.pi)
    )
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    smooth = np.clip((turns - low) / (high - low), 0, 1)
    return {"rope_freqs.weight": (1 / ((1 - smooth) / rope["factor"] + smooth)).astype("float32")}


def _metadata(c: Any, kind: str) -> dict[str, Any]:
    width = c.hidden_size
    head = getattr(c, "head_dim", None) or width // c.num_attention_heads
    inner = getattr(c, "intermediate_size", None) or getattr(c, "expansion_ratio", 4) * width
    rope = getattr(c, "rope_parameters", None) or {}
    rope = rope.get("full_attention", rope)
    values: dict[str, Any] = {
        "block_count": c.num_hidden_layers,
        "context_length": getattr(c, "max_position_embeddings", 256),
        "embedding_length": width,
        "feed_forward_length": inner,
        "attention.head_count": c.num_attention_heads,
        "attention.head_count_kv": getattr(c, "num_key_value_heads", None) or c.num_attention_heads,
        "attention.key_length": head,
        "attention.value_length": head,
    }
    if kind == "mpt":
        values["attention.max_alibi_bias"] = float(c.attn_config.alibi_bias_max)
    epsilons = ("rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon", "norm_epsilon")
    epsilon = float(next(getattr(c, e) for e in epsilons if hasattr(c, e)))
    is_layer_norm = kind in ("phi2", "gpt2", "starcoder2", "bloom", "mpt")
    values["attention.layer_norm_epsilon" if is_layer_norm else "attention.layer_norm_rms_epsilon"] = epsilon
    if rope:
        values["rope.freq_base"] = float(rope["rope_theta"])
        values["rope.dimension_count"] = int(head * rope.get("partial_rotary_factor", 1.0))
        if rope["rope_type"] == "longrope":
            longer = c.max_position_embeddings / rope["original_max_position_embeddings"]
            values["rope.scaling.attn_factor"] = math.sqrt(
                1 + math.log(longer) / math.log(rope["original_max_position_embeddings"])
            )
            values["rope.scaling.original_context_length"] = rope["original_max_position_embeddings"]
        elif rope["rope_type"] not in ("default", "llama3"):
            values["rope.scaling.type"] = rope["rope_type"]
            values["rope.scaling.factor"] = float(rope["factor"])
            if "original_max_position_embeddings" in rope:
                values["rope.scaling.original_context_length"] = rope["original_max_position_embeddings"]
    if getattr(c, "sliding_window", None) and getattr(c, "use_sliding_window", True):
        values["attention.sliding_window"] = c.sliding_window
    if kind == "gemma2":
        values["attn_logit_softcapping"] = float(c.attn_logit_softcapping)
        values["final_logit_softcapping"] = float(c.final_logit_softcapping)
    if kind == "granite":
        values["embedding_scale"] = float(c.embedding_multiplier)
        values["residual_scale"] = float(c.residual_multiplier)
        values["attention.scale"] = float(c.attention_multiplier)
        values["logit_scale"] = float(c.logits_scaling)
    return {"general.architecture": kind} | {f"{kind}.{k}": v for k, v in values.items()}
