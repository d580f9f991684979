"""Networks beside those of the side-by-side: small ones of many kinds, with random weights, each with the package that it comes from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..compare.export import Network

Made = tuple[Any, dict[str, Any]]
"""A module of torch and its input by name."""


@dataclass(frozen=True)
class Listed:
    """A network of the list.

    Attributes:
        kind: its task, as a noun.
        package: the package of Python that has it.
        network: its title and its constructor.
    """

    kind: str
    package: str
    network: Network


def _image(size: int, channels: int = 3) -> dict[str, Any]:
    import torch

    return {"x": torch.randn(1, channels, size, size)}


def _timm(name: str, size: int = 224, kind: str = "classification", **options: Any) -> Listed:
    def make() -> Made:
        import timm

        return timm.create_model(name, pretrained=False, exportable=True, **options), _image(size)

    return Listed(kind, "timm", Network(name, make))


def _vision(name: str, size: int = 224, kind: str = "classification", part: str = "", group: str = "") -> Listed:
    """A network of torchvision without weights; `part`: the exported part, or the key of its output."""

    def make() -> Made:
        import torchvision

        models = getattr(torchvision.models, group) if group else torchvision.models
        options = {"weights": None}
        if group in ("segmentation", "detection"):
            options["weights_backbone"] = None
        model = getattr(models, name)(**options)
        return _Adapted.of(model, part), _image(size)

    return Listed(kind, "torchvision", Network(f"{name} {part}".strip(), make))


class _Adapted:
    """Modules that return one of the tensors of another module."""

    @staticmethod
    def of(model: Any, part: str) -> Any:
        import torch

        class Output(torch.nn.Module):
            """The output of that key."""

            def __init__(self) -> None:
                super().__init__()
                self.model = model

            def forward(self, x: Any) -> Any:
                return self.model(x)[part]

        class Head(torch.nn.Module):
            """The classes and boxes of a detector, before they are decoded, side by side."""

            def __init__(self) -> None:
                super().__init__()
                self.backbone, self.head = model.backbone, model.head

            def forward(self, x: Any) -> Any:
                heads = self.head(list(self.backbone(x).values()))
                return torch.cat([v for k, v in heads.items() if k in ("cls_logits", "bbox_regression")], -1)

        return Head() if part == "head" else Output() if part else model


def _transformer(
    model: str,
    config: str,
    inputs: Callable[[], dict[str, Any]],
    kind: str = "language",
    part: str = "",
    **options: Any,
) -> Listed:
    def make() -> Made:
        import transformers

        settings = getattr(transformers, config)(**options)
        settings._attn_implementation = "eager"
        if hasattr(settings, "use_cache"):
            settings.use_cache = False
        net = getattr(transformers, model)(settings)
        return (getattr(net, part) if part else net), inputs()

    return Listed(kind, "transformers", Network(model, make))


def _tokens(count: int = 64, vocabulary: int = 1000, name: str = "input_ids") -> Callable[[], dict[str, Any]]:
    def draw() -> dict[str, Any]:
        import torch

        return {name: torch.randint(3, vocabulary - 1, (1, count))}

    return draw


def _floats(name: str, *shape: int) -> Callable[[], dict[str, Any]]:
    def draw() -> dict[str, Any]:
        import torch

        return {name: torch.randn(*shape)}

    return draw


def _torch(title: str, kind: str, make: Callable[[Any], Any], *shape: int) -> Listed:
    """A module made of torch's own layers: `make` gets `torch.nn`."""

    def both() -> Made:
        import torch

        return make(torch.nn), {"x": torch.randn(*shape)}

    return Listed(kind, "torch", Network(title, both))


def _espcn(nn: Any) -> Any:
    """Shi et al. 2016: sub-pixel convolution."""
    layers = [nn.Conv2d(1, 64, 5, padding=2), nn.Tanh(), nn.Conv2d(64, 32, 3, padding=1), nn.Tanh()]
    return nn.Sequential(*layers, nn.Conv2d(32, 9, 3, padding=1), nn.PixelShuffle(3))


def _edsr(nn: Any) -> Any:
    """Lim et al. 2017, with 8 blocks of 32 channels, twice the size."""

    class Block(nn.Module):  # type: ignore[misc]  # torch's class has no type here
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1))

        def forward(self, x: Any) -> Any:
            return x + 0.1 * self.body(x)

    head, tail = nn.Conv2d(3, 32, 3, padding=1), nn.Conv2d(32, 12, 3, padding=1)
    return nn.Sequential(head, *(Block() for _ in range(8)), tail, nn.PixelShuffle(2))


def _fsrcnn(nn: Any) -> Any:
    """Dong et al. 2016: a transposed convolution of stride 3 at the end."""
    middle = [layer for _ in range(4) for layer in (nn.Conv2d(12, 12, 3, padding=1), nn.PReLU(12))]
    head = [nn.Conv2d(1, 56, 5, padding=2), nn.PReLU(56), nn.Conv2d(56, 12, 1), nn.PReLU(12)]
    tail = [nn.Conv2d(12, 56, 1), nn.PReLU(56), nn.ConvTranspose2d(56, 1, 9, 3, 4, output_padding=2)]
    return nn.Sequential(*head, *middle, *tail)


def _srcnn(nn: Any) -> Any:
    """Dong et al. 2014, after an enlargement."""
    up = nn.Upsample(scale_factor=2, mode="bicubic")
    return nn.Sequential(
        up, nn.Conv2d(3, 64, 9, padding=4), nn.ReLU(), nn.Conv2d(64, 32, 1), nn.ReLU(), nn.Conv2d(32, 3, 5, padding=2)
    )


def _dcgan(nn: Any) -> Any:
    """Radford et al. 2015: the generator, for 64 by 64 pixels."""
    layers: list[Any] = []
    inputs = 100
    for outputs, stride, pad in ((256, 1, 0), (128, 2, 1), (64, 2, 1), (32, 2, 1)):
        layers += [nn.ConvTranspose2d(inputs, outputs, 4, stride, pad, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]
        inputs = outputs
    return nn.Sequential(*layers, nn.ConvTranspose2d(inputs, 3, 4, 2, 1), nn.Tanh())


def _keywords(nn: Any) -> Any:
    """Zhang et al. 2017, DS-CNN: keywords in 49 frames of 10 coefficients."""
    layers: list[Any] = [nn.Conv2d(1, 64, (10, 4), (2, 2), (5, 1)), nn.BatchNorm2d(64), nn.ReLU()]
    for _ in range(4):
        layers += [nn.Conv2d(64, 64, 3, padding=1, groups=64), nn.BatchNorm2d(64), nn.ReLU()]
        layers += [nn.Conv2d(64, 64, 1), nn.BatchNorm2d(64), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 12))


def _m5(nn: Any) -> Any:
    """Dai et al. 2016: convolutions on one second of sound."""
    layers: list[Any] = [nn.Conv1d(1, 64, 80, 16), nn.BatchNorm1d(64), nn.ReLU(), nn.MaxPool1d(4)]
    inputs = 64
    for outputs in (64, 128, 256):
        layers += [nn.Conv1d(inputs, outputs, 3, padding=1), nn.BatchNorm1d(outputs), nn.ReLU(), nn.MaxPool1d(4)]
        inputs = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(256, 35))


def _tcn(nn: Any) -> Any:
    """Luo and Mesgarani 2019, Conv-TasNet's encoder, 8 dilated blocks and decoder, for a quarter of a second."""

    class Block(nn.Module):  # type: ignore[misc]  # torch's class has no type here
        def __init__(self, dilation: int) -> None:
            super().__init__()
            deep = nn.Conv1d(128, 128, 3, padding=dilation, dilation=dilation, groups=128)
            first = [nn.Conv1d(64, 128, 1), nn.PReLU(), nn.GroupNorm(1, 128)]
            self.body = nn.Sequential(*first, deep, nn.PReLU(), nn.GroupNorm(1, 128), nn.Conv1d(128, 64, 1))

        def forward(self, x: Any) -> Any:
            return x + self.body(x)

    blocks = [Block(2**n) for n in range(8)]
    return nn.Sequential(nn.Conv1d(1, 64, 16, 8), *blocks, nn.ConvTranspose1d(64, 1, 16, 8))


def _speech(nn: Any) -> Any:
    """Amodei et al. 2015, Deep Speech 2 with one bidirectional GRU of 128 cells."""

    class Speech(nn.Module):  # type: ignore[misc]  # torch's class has no type here
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Sequential(nn.Conv2d(1, 16, (41, 11), (2, 2), (20, 5)), nn.Hardtanh(0, 20))
            self.gru = nn.GRU(16 * 80, 128, bidirectional=True, batch_first=True)
            self.head = nn.Linear(256, 29)

        def forward(self, x: Any) -> Any:
            y = self.conv(x).flatten(1, 2).transpose(1, 2)
            return self.head(self.gru(y)[0])

    return Speech()


def _wgan(nn: Any) -> Any:
    """A multilayer perceptron of three layers on 16 rows."""
    return nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 64))


def _darknet(nn: Any) -> Any:
    """Redmon and Farhadi 2018, the backbone and one head of YOLOv3-tiny, 256 by 256 pixels."""
    layers: list[Any] = []
    inputs = 3
    for n, outputs in enumerate((16, 32, 64, 128, 256, 512)):
        layers += [nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.LeakyReLU(0.1)]
        layers += [nn.MaxPool2d(2)] if n < 5 else []
        inputs = outputs
    return nn.Sequential(*layers, nn.Conv2d(512, 256, 1), nn.LeakyReLU(0.1), nn.Conv2d(256, 255, 1))


_SPEECH = {
    "hidden_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 512,
    "conv_dim": (64, 64, 64),
    "conv_stride": (5, 4, 4),
    "conv_kernel": (10, 8, 4),
    "num_feat_extract_layers": 3,
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 4,
    "vocab_size": 99,
}
_TEXT = {
    "vocab_size": 1000,
    "hidden_size": 192,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 768,
}
_PATCHES = {"hidden_size": 192, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 768}

NETWORKS: dict[str, Listed] = {
    "espcn": _torch("ESPCN", "super-resolution", _espcn, 1, 1, 96, 96),
    "fsrcnn": _torch("FSRCNN", "super-resolution", _fsrcnn, 1, 1, 64, 64),
    "srcnn": _torch("SRCNN", "super-resolution", _srcnn, 1, 3, 64, 64),
    "edsr": _torch("EDSR, 8 blocks", "super-resolution", _edsr, 1, 3, 64, 64),
    "swin2sr": _transformer(
        "Swin2SRForImageSuperResolution",
        "Swin2SRConfig",
        _floats("pixel_values", 1, 3, 32, 32),
        "super-resolution",
        embed_dim=60,
        depths=[2, 2],
        num_heads=[6, 6],
        window_size=8,
        image_size=32,
    ),
    "dcgan": _torch("DCGAN generator", "generation", _dcgan, 1, 100, 1, 1),
    "ds_cnn": _torch("DS-CNN", "audio", _keywords, 1, 1, 49, 10),
    "m5": _torch("M5", "audio", _m5, 1, 1, 16000),
    "conv_tasnet": _torch("Conv-TasNet", "audio", _tcn, 1, 1, 4000),
    "deep_speech": _torch("Deep Speech 2", "audio", _speech, 1, 1, 160, 100),
    "wav2vec2": _transformer("Wav2Vec2Model", "Wav2Vec2Config", _floats("input_values", 1, 8000), "audio", **_SPEECH),
    "ast": _transformer(
        "ASTModel",
        "ASTConfig",
        _floats("input_values", 1, 256, 128),
        "audio",
        **_PATCHES,
        max_length=256,
    ),
    "encodec": _transformer(
        "EncodecModel",
        "EncodecConfig",
        _floats("hidden_states", 1, 1, 4800),
        "audio",
        "encoder",
        num_filters=16,
        upsampling_ratios=[8, 5, 4],
        num_lstm_layers=1,
    ),
    "hifigan": _transformer(
        "SpeechT5HifiGan",
        "SpeechT5HifiGanConfig",
        _floats("spectrogram", 1, 20, 80),
        "audio",
        upsample_initial_channel=128,
        upsample_rates=[4, 4, 4],
        upsample_kernel_sizes=[8, 8, 8],
    ),
    "mlp": _torch("Perceptron", "tables", _wgan, 16, 256),
    "yolov3_tiny": _torch("YOLOv3-tiny", "detection", _darknet, 1, 3, 256, 256),
    "ssdlite": _vision("ssdlite320_mobilenet_v3_large", 320, "detection", "head", "detection"),
    "yolos": _transformer(
        "YolosForObjectDetection",
        "YolosConfig",
        _floats("pixel_values", 1, 3, 192, 192),
        "detection",
        **_PATCHES,
        image_size=[192, 192],
        num_detection_tokens=20,
    ),
    "squeezenet": _vision("squeezenet1_1"),
    "shufflenet": _vision("shufflenet_v2_x0_5"),
    "googlenet": _vision("googlenet", kind="classification", part=""),
    "densenet121": _vision("densenet121", 128),
    "lraspp": _vision("lraspp_mobilenet_v3_large", 256, "segmentation", "out", "segmentation"),
    "deeplabv3": _vision("deeplabv3_mobilenet_v3_large", 224, "segmentation", "out", "segmentation"),
    "albert": _transformer("AlbertModel", "AlbertConfig", _tokens(), **_TEXT, embedding_size=64),
    "deberta_v2": _transformer(
        "DebertaV2Model",
        "DebertaV2Config",
        _tokens(),
        **_TEXT,
        relative_attention=True,
        pos_att_type=["p2c", "c2p"],
        position_buckets=32,
    ),
    "squeezebert": _transformer(
        "SqueezeBertModel",
        "SqueezeBertConfig",
        _tokens(),
        **{**_TEXT, "hidden_size": 192, "embedding_size": 192, "num_attention_heads": 4},
    ),
    "t5_encoder": _transformer(
        "T5EncoderModel",
        "T5Config",
        _tokens(),
        vocab_size=1000,
        d_model=192,
        d_kv=64,
        d_ff=768,
        num_layers=2,
        num_heads=3,
    ),
    "llama": _transformer(
        "LlamaForCausalLM", "LlamaConfig", _tokens(), **_TEXT, num_key_value_heads=1, max_position_embeddings=128
    ),
    "mamba": _transformer(
        "MambaModel", "MambaConfig", _tokens(16), vocab_size=1000, hidden_size=96, num_hidden_layers=2, state_size=16
    ),
    "patchtst": _transformer(
        "PatchTSTForPrediction",
        "PatchTSTConfig",
        _floats("past_values", 1, 256, 7),
        "time series",
        num_input_channels=7,
        context_length=256,
        patch_length=16,
        stride=8,
        d_model=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        ffn_dim=256,
        prediction_length=96,
    ),
    "dpt": _transformer(
        "DPTForDepthEstimation",
        "DPTConfig",
        _floats("pixel_values", 1, 3, 128, 128),
        "depth",
        **{**_PATCHES, "num_hidden_layers": 4},
        image_size=128,
        backbone_out_indices=[0, 1, 2, 3],
        neck_hidden_sizes=[24, 48, 96, 192],
        fusion_hidden_size=64,
    ),
    "mobilenetv3_small": _timm("mobilenetv3_small_100"),
    "lcnet": _timm("lcnet_050"),
    "ghostnet": _timm("ghostnet_100"),
    "mixnet": _timm("mixnet_s"),
    "regnetx": _timm("regnetx_002"),
    "regnety": _timm("regnety_002"),
    "mobilevit": _timm("mobilevit_xxs", 192),
    "levit": _timm("levit_128s"),
    "edgenext": _timm("edgenext_xx_small", 192),
    "resmlp": _timm("resmlp_12_224", 224),
    "mixer": _timm("mixer_s32_224", 224),
    "repvgg": _timm("repvgg_a0", 160),
    "res2net": _timm("res2net50_14w_8s", 128),
    "skresnet": _timm("skresnet18", 160),
    "gcresnet": _timm("gcresnext26ts", 160),
    "hrnet": _timm("hrnet_w18_small", 128),
    "cait": _timm("cait_xxs24_224", 224, depth=4),
    "xcit": _timm("xcit_nano_12_p16_224", 224),
    "coat": _timm("coat_lite_tiny", 224),
    "pvt": _timm("pvt_v2_b0", 192),
    "poolformer": _timm("poolformer_s12", 160),
    "convmixer": _timm("convmixer_768_32", 112, dim=256, depth=6),
    "dla": _timm("dla34", 128),
    "inception": _timm("inception_v3", 171),
}
