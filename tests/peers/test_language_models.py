"""Networks from GGUF files beside transformers, whose configurations they are (`make test-peers`): logits, and 200 tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtool
from tests.peers.transformers_to_gguf import file_of

pytestmark = pytest.mark.promise("growing states")

SIZES = {
    "vocab_size": 96,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "initializer_range": 0.2,
}
GPT2 = {"vocab_size": 96, "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 256, "initializer_range": 0.2}
YARN = {"rope_type": "yarn", "factor": 4.0, "rope_theta": 10000.0, "original_max_position_embeddings": 64}
LINEAR = {"rope_type": "linear", "factor": 2.0, "rope_theta": 10000.0}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "rope_theta": 1e4, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
LLAMA3 |= {"original_max_position_embeddings": 64}
LONGROPE = {"rope_type": "longrope", "short_factor": [1.0 + n / 8 for n in range(8)], "rope_theta": 1e4}
LONGROPE |= {"long_factor": [1.0 + n for n in range(8)]}
LONG, SHORT = ({"original_max_position_embeddings": n} for n in (3, 256))
"""transformers chooses the factors by the tokens that there are, GGUF by the room of the caches."""
PHI3 = SIZES | {"sliding_window": None, "pad_token_id": 0}
BLOOM = {"vocab_size": 96, "hidden_size": 96, "n_layer": 2, "n_head": 6, "initializer_range": 0.2}
MPT = {"vocab_size": 96, "d_model": 64, "n_heads": 4, "n_layers": 2, "max_seq_len": 256, "initializer_range": 0.2}
GRANITE = {
    "embedding_multiplier": 3.0,
    "residual_multiplier": 0.5,
    "attention_multiplier": 0.2,
    "logits_scaling": 2.0,
}
CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "llama": ("llama", "Llama", SIZES),
    "llama, one embedding": ("llama", "Llama", SIZES | {"tie_word_embeddings": True}),
    "llama, a longer context": ("llama", "Llama", SIZES | {"rope_parameters": LINEAR}),
    "llama, a longer context by yarn": ("llama", "Llama", SIZES | {"rope_parameters": YARN}),
    "llama, a longer context as llama 3 has it": ("llama", "Llama", SIZES | {"rope_parameters": LLAMA3}),
    "phi3, a longer context": ("phi3", "Phi3", PHI3 | {"rope_parameters": LONGROPE, **LONG}),
    "phi3, a context as in training": ("phi3", "Phi3", PHI3 | {"rope_parameters": LONGROPE, **SHORT}),
    "bloom": ("bloom", "Bloom", BLOOM),
    "mpt": ("mpt", "Mpt", MPT),
    "qwen2": ("qwen2", "Qwen2", SIZES),
    "qwen3": ("qwen3", "Qwen3", SIZES | {"head_dim": 24}),
    "gemma": ("gemma", "Gemma", SIZES | {"head_dim": 24}),
    "gemma2": ("gemma2", "Gemma2", SIZES | {"head_dim": 24, "query_pre_attn_scalar": 24, "sliding_window": 16}),
    "gemma3": (
        "gemma3", "Gemma3Text",
        SIZES | {"head_dim": 24, "query_pre_attn_scalar": 24, "sliding_window": 16, "num_hidden_layers": 7},
    ),
    "phi2": ("phi2", "Phi", SIZES | {"num_key_value_heads": 4}),
    "phi3": ("phi3", "Phi3", SIZES | {"sliding_window": 32, "pad_token_id": 0}),
    "gpt2": ("gpt2", "GPT2", GPT2),
    "starcoder2": ("starcoder2", "Starcoder2", SIZES | {"sliding_window": None}),
    "granite": ("granite", "Granite", SIZES | GRANITE),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_same_tokens(case: str, pytestconfig: pytest.Config, tmp_path: Path) -> None:
    if not pytestconfig.getoption("--peers"):
        pytest.skip("only with --peers")
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    kind, name, sizes = CASES[case]
    config = getattr(transformers, f"{name}Config")(**sizes)
    classes = (f"{name}ForCausalLM", f"{name}LMHeadModel", f"{name.removesuffix('Text')}ForCausalLM")
    model = next(getattr(transformers, c) for c in classes if hasattr(transformers, c))(config)
    for parameter in model.parameters():  # biases and the weights of norms begin with zeros and ones
        if parameter.ndim == 1:
            parameter.data += 0.1 * torch.randn(parameter.shape)
    data = file_of(model.eval(), kind)
    module, weights = irtool.from_gguf(data, {"context": "<=256"})
    net = irtool.build(module, weights, out_dir=tmp_path).instance()
    tokens = [5, 17, 3, 11]
    logits = np.asarray(net.step(ids=np.array(tokens, "int32")))
    exact = model.to(torch.float64)
    with torch.no_grad():
        for _ in range(200):
            expected = exact(torch.tensor([tokens]), use_cache=False).logits[0, -1].numpy()
            assert np.abs(logits[0] - expected).max() <= 1e-4 * np.abs(expected).max()
            assert logits[0].argmax() == expected.argmax()
            tokens.append(int(logits[0].argmax()))
            logits = np.asarray(net.step(ids=np.array(tokens[-1:], "int32")))
