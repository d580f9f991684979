"""Architectures of `transformers`, as small as they still have all of their parts, with random weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..signals import enliven

TEXT = {"input_ids": ("ids", (2, 12)), "attention_mask": ("ones", (2, 12))}
"""With a mask for decoders, too: without one `transformers` looks for packed sequences, which tracing cannot export."""
IMAGE = {"pixel_values": ("floats", (1, 3, 64, 64))}
SOUND = {"input_values": ("floats", (1, 4000))}
ENCODED = {"input_ids": ("ids", (1, 12)), "decoder_input_ids": ("ids", (1, 7))}

SMALL = {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 37}
DECODER = {**SMALL, "num_key_value_heads": 2, "max_position_embeddings": 64}
VISION = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 37,
    "image_size": 64,
    "patch_size": 16,
}
FRAMES = {**VISION, "image_size": 32, "patch_size": 8, "num_frames": 4}
VIDEO = {"pixel_values": ("floats", (1, 4, 3, 32, 32))}
SPEECH = {
    **SMALL,
    "conv_dim": (16, 16, 16),
    "conv_stride": (5, 2, 2),
    "conv_kernel": (10, 3, 3),
    "num_feat_extract_layers": 3,
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 2,
}


@dataclass(frozen=True)
class Architecture:
    """A class of `transformers`, the changes to its configuration, and its inputs.

    Attributes:
        model: the name of the class; its configuration is that of the class.
        config: what is other than by default.
        inputs: what to draw (`ids`, `ones`, `floats`) and in which shape, by the names of arguments.
        part: the part of the model that is exported, by the name of an attribute; all of it where empty.
        opset: for the tracing exporter.
    """

    model: str
    config: Mapping[str, Any]
    inputs: Mapping[str, tuple[str, Sequence[int]]]
    part: str = ""
    opset: int = 17


def _named(*architectures: tuple[str, Architecture]) -> dict[str, Architecture]:
    return dict(architectures)


def _t5(**more: Any) -> dict[str, Any]:
    return {"vocab_size": 99, "d_model": 32, "d_kv": 8, "d_ff": 37, "num_layers": 2, "num_heads": 4, **more}


def _bart(**more: Any) -> dict[str, Any]:
    sizes = {"d_model": 32, "encoder_ffn_dim": 37, "decoder_ffn_dim": 37, "max_position_embeddings": 64}
    heads = {"encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4}
    return {"vocab_size": 99, **sizes, **heads, **more}


ARCHITECTURES: dict[str, Architecture] = _named(
    ("bert", Architecture("BertModel", SMALL, TEXT)),
    ("roberta", Architecture("RobertaModel", SMALL, TEXT)),
    (
        "distilbert",
        Architecture(
            "DistilBertModel", {"vocab_size": 99, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 37}, TEXT
        ),
    ),
    ("albert", Architecture("AlbertModel", {**SMALL, "embedding_size": 16}, TEXT)),
    ("electra", Architecture("ElectraModel", {**SMALL, "embedding_size": 16}, TEXT)),
    (
        "deberta-v2",
        Architecture(
            "DebertaV2Model",
            {**SMALL, "relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 8},
            TEXT,
        ),
    ),
    ("mpnet", Architecture("MPNetModel", SMALL, TEXT)),
    ("xlm-roberta", Architecture("XLMRobertaModel", SMALL, TEXT)),
    (
        "gpt2",
        Architecture(
            "GPT2LMHeadModel", {"vocab_size": 99, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}, TEXT
        ),
    ),
    (
        "gpt-neo",
        Architecture(
            "GPTNeoForCausalLM",
            {
                "vocab_size": 99,
                "hidden_size": 32,
                "num_layers": 2,
                "num_heads": 4,
                "attention_types": [[["global", "local"], 1]],
                "window_size": 4,
                "max_position_embeddings": 64,
            },
            TEXT,
        ),
    ),
    ("gpt-neox", Architecture("GPTNeoXForCausalLM", {**SMALL, "max_position_embeddings": 64}, TEXT)),
    (
        "opt",
        Architecture(
            "OPTForCausalLM",
            {
                "vocab_size": 99,
                "hidden_size": 32,
                "num_hidden_layers": 2,
                "num_attention_heads": 4,
                "ffn_dim": 37,
                "max_position_embeddings": 64,
                "word_embed_proj_dim": 32,
            },
            TEXT,
        ),
    ),
    ("bloom", Architecture("BloomForCausalLM", {"vocab_size": 99, "hidden_size": 32, "n_layer": 2, "n_head": 4}, TEXT)),
    ("llama", Architecture("LlamaForCausalLM", DECODER, TEXT)),
    ("mistral", Architecture("MistralForCausalLM", {**DECODER, "sliding_window": 6}, TEXT)),
    ("qwen2", Architecture("Qwen2ForCausalLM", DECODER, TEXT)),
    ("qwen3", Architecture("Qwen3ForCausalLM", {**DECODER, "head_dim": 8}, TEXT)),
    ("gemma", Architecture("GemmaForCausalLM", {**DECODER, "head_dim": 8}, TEXT)),
    ("gemma2", Architecture("Gemma2ForCausalLM", {**DECODER, "head_dim": 8}, TEXT)),
    ("phi", Architecture("PhiForCausalLM", {**DECODER, "num_key_value_heads": 4}, TEXT)),
    ("phi3", Architecture("Phi3ForCausalLM", {**DECODER, "pad_token_id": 0}, TEXT)),
    ("t5", Architecture("T5Model", _t5(), ENCODED)),
    ("t5-encoder", Architecture("T5EncoderModel", _t5(), TEXT)),
    ("bart", Architecture("BartModel", _bart(), ENCODED)),
    ("mbart", Architecture("MBartModel", _bart(), ENCODED)),
    ("pegasus", Architecture("PegasusModel", _bart(), ENCODED)),
    ("vit", Architecture("ViTModel", VISION, IMAGE)),
    ("deit", Architecture("DeiTModel", VISION, IMAGE)),
    ("beit", Architecture("BeitModel", {**VISION, "use_relative_position_bias": True}, IMAGE)),
    (
        "dinov2",
        Architecture(
            "Dinov2Model", {**VISION, "patch_size": 14, "image_size": 56}, {"pixel_values": ("floats", (1, 3, 56, 56))}
        ),
    ),
    (
        "swin",
        Architecture(
            "SwinModel",
            {
                "image_size": 64,
                "patch_size": 4,
                "embed_dim": 16,
                "depths": [2, 2],
                "num_heads": [2, 4],
                "window_size": 4,
            },
            IMAGE,
        ),
    ),
    (
        "swinv2",
        Architecture(
            "Swinv2Model",
            {
                "image_size": 64,
                "patch_size": 4,
                "embed_dim": 16,
                "depths": [2, 2],
                "num_heads": [2, 4],
                "window_size": 4,
            },
            IMAGE,
        ),
    ),
    ("convnext", Architecture("ConvNextModel", {"hidden_sizes": [16, 24, 32, 40], "depths": [1, 1, 2, 1]}, IMAGE)),
    ("convnextv2", Architecture("ConvNextV2Model", {"hidden_sizes": [16, 24, 32, 40], "depths": [1, 1, 2, 1]}, IMAGE)),
    (
        "segformer",
        Architecture(
            "SegformerForSemanticSegmentation",
            {
                "hidden_sizes": [16, 16, 32, 32],
                "depths": [1, 1, 1, 1],
                "num_attention_heads": [1, 2, 2, 4],
                "decoder_hidden_size": 16,
                "num_labels": 5,
            },
            IMAGE,
        ),
    ),
    (
        "mobilevit",
        Architecture(
            "MobileViTModel",
            {"image_size": 64, "hidden_sizes": [24, 32, 40], "neck_hidden_sizes": [8, 16, 16, 24, 32, 40, 48]},
            IMAGE,
        ),
    ),
    ("mobilevitv2", Architecture("MobileViTV2Model", {"image_size": 64, "width_multiplier": 0.25}, IMAGE, opset=18)),
    (
        "efficientnet",
        Architecture(
            "EfficientNetModel",
            {"image_size": 64, "width_coefficient": 0.25, "depth_coefficient": 0.3, "hidden_dim": 320},
            IMAGE,
        ),
    ),
    (
        "regnet",
        Architecture(
            "RegNetModel",
            {"embedding_size": 16, "hidden_sizes": [16, 24, 32, 40], "depths": [1, 1, 2, 1], "groups_width": 8},
            IMAGE,
        ),
    ),
    (
        "resnet",
        Architecture(
            "ResNetModel", {"embedding_size": 16, "hidden_sizes": [16, 24, 32, 40], "depths": [1, 1, 2, 1]}, IMAGE
        ),
    ),
    ("mobilenet-v1", Architecture("MobileNetV1Model", {"depth_multiplier": 0.25, "image_size": 64}, IMAGE)),
    ("mobilenet-v2", Architecture("MobileNetV2Model", {"depth_multiplier": 0.25, "image_size": 64}, IMAGE)),
    (
        "yolos",
        Architecture("YolosForObjectDetection", {**VISION, "image_size": [64, 64], "num_detection_tokens": 5}, IMAGE),
    ),
    (
        "dpt",
        Architecture(
            "DPTForDepthEstimation",
            {
                **VISION,
                "num_hidden_layers": 4,
                "backbone_out_indices": [0, 1, 2, 3],
                "neck_hidden_sizes": [16, 16, 32, 32],
                "fusion_hidden_size": 16,
            },
            IMAGE,
        ),
    ),
    (
        "levit",
        Architecture(
            "LevitModel",
            {
                "image_size": 64,
                "hidden_sizes": [16, 32, 48],
                "num_attention_heads": [2, 2, 3],
                "depths": [1, 1, 1],
                "key_dim": [8, 8, 8],
            },
            IMAGE,
        ),
    ),
    ("poolformer", Architecture("PoolFormerModel", {"hidden_sizes": [16, 24, 32, 40], "depths": [1, 1, 1, 1]}, IMAGE)),
    (
        "whisper-encoder",
        Architecture(
            "WhisperModel",
            _bart(
                num_mel_bins=16,
                max_source_positions=20,
                max_target_positions=24,
                pad_token_id=0,
                bos_token_id=1,
                eos_token_id=2,
                decoder_start_token_id=1,
            ),
            {"input_features": ("floats", (1, 16, 40))},
            "encoder",
        ),
    ),
    (
        "whisper",
        Architecture(
            "WhisperModel",
            _bart(
                num_mel_bins=16,
                max_source_positions=20,
                max_target_positions=24,
                pad_token_id=0,
                bos_token_id=1,
                eos_token_id=2,
                decoder_start_token_id=1,
            ),
            {
                "input_features": ("floats", (1, 16, 40)),
                "decoder_input_ids": ("ids", (1, 7)),
                "decoder_attention_mask": ("ones", (1, 7)),
            },
        ),
    ),
    ("wav2vec2", Architecture("Wav2Vec2Model", SPEECH, SOUND)),
    ("hubert", Architecture("HubertModel", SPEECH, SOUND)),
    (
        "audio-spectrogram",
        Architecture(
            "ASTModel",
            {k: v for k, v in VISION.items() if k != "image_size"} | {"max_length": 64, "num_mel_bins": 32},
            {"input_values": ("floats", (1, 64, 32))},
        ),
    ),
    ("clip-text", Architecture("CLIPTextModel", {**SMALL, "max_position_embeddings": 64, "eos_token_id": 98}, TEXT)),
    ("clip-vision", Architecture("CLIPVisionModel", VISION, IMAGE)),
    ("siglip-vision", Architecture("SiglipVisionModel", VISION, IMAGE)),
    (
        "mamba",
        Architecture(
            "MambaModel",
            {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 8},
            {"input_ids": ("ids", (2, 7))},
        ),
    ),
    (
        "rwkv",
        Architecture(
            "RwkvModel",
            {
                "vocab_size": 99,
                "hidden_size": 32,
                "num_hidden_layers": 2,
                "attention_hidden_size": 32,
                "context_length": 16,
            },
            {"input_ids": ("ids", (2, 6))},
        ),
    ),
    ("videomae", Architecture("VideoMAEModel", FRAMES, VIDEO)),
    ("timesformer", Architecture("TimesformerModel", FRAMES, VIDEO)),
    ("wav2vec2-conformer", Architecture("Wav2Vec2ConformerModel", SPEECH, SOUND)),
    (
        "clap-audio",
        Architecture(
            "ClapAudioModel",
            {
                "spec_size": 64,
                "patch_size": 4,
                "patch_stride": [4, 4],
                "num_mel_bins": 16,
                "window_size": 4,
                "hidden_size": 32,
                "patch_embeds_hidden_size": 8,
                "depths": [1, 1],
                "num_attention_heads": [2, 2],
                "num_hidden_layers": 2,
            },
            {"input_features": ("floats", (2, 1, 64, 16))},
        ),
    ),
    (
        "encodec-encoder",
        Architecture(
            "EncodecModel",
            {
                "num_filters": 4,
                "hidden_size": 16,
                "codebook_size": 32,
                "codebook_dim": 16,
                "upsampling_ratios": [4, 2],
                "num_lstm_layers": 1,
            },
            {"hidden_states": ("floats", (2, 1, 160))},
            "encoder",
        ),
    ),
    (
        "hifigan",
        Architecture(
            "SpeechT5HifiGan",
            {
                "model_in_dim": 8,
                "upsample_initial_channel": 16,
                "upsample_rates": [2, 2],
                "upsample_kernel_sizes": [4, 4],
                "resblock_kernel_sizes": [3],
                "resblock_dilation_sizes": [[1, 3]],
            },
            {"spectrogram": ("floats", (2, 10, 8))},
        ),
    ),
    (
        "patchtst",
        Architecture(
            "PatchTSTForPrediction",
            {
                "num_input_channels": 3,
                "context_length": 24,
                "patch_length": 4,
                "stride": 4,
                "d_model": 16,
                "num_hidden_layers": 2,
                "num_attention_heads": 2,
                "ffn_dim": 24,
                "prediction_length": 6,
            },
            {"past_values": ("floats", (2, 24, 3))},
        ),
    ),
)


def build(name: str) -> tuple[Any, dict[str, Any]]:
    """The module of an architecture, which gives one tensor, and its inputs, with a fixed seed."""
    import torch
    import transformers

    a = ARCHITECTURES[name]
    torch.manual_seed(0)
    cls = getattr(transformers, a.model)
    config = cls.config_class(**a.config)
    config._attn_implementation = "eager"
    if hasattr(config, "use_cache"):
        config.use_cache = False
    model = cls(config).eval()
    draw: dict[str, Callable[[Sequence[int]], Any]] = {
        "ids": lambda shape: torch.randint(3, 98, tuple(shape)),
        "ones": lambda shape: torch.ones(tuple(shape), dtype=torch.int64),
        "floats": lambda shape: torch.randn(*shape),
    }
    inputs = {k: draw[kind](shape) for k, (kind, shape) in a.inputs.items()}
    if "attention_mask" in inputs:
        inputs["attention_mask"][-1, -3:] = 0
    net = _first_output(getattr(model, a.part) if a.part else model, list(inputs))
    enliven(net, lambda: net(*inputs.values()))
    return net, inputs


def _first_output(model: Any, names: list[str]) -> Any:
    import torch

    class FirstOutput(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *tensors: Any) -> Any:
            out = self.model(**dict(zip(names, tensors, strict=True)))
            return out[0]

    return FirstOutput().eval()
