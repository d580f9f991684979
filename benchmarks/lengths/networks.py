"""Networks with one axis whose length the run decides, exported from torch with random weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..compare.convolutions import unet
from ..compare.export import Network


@dataclass(frozen=True)
class OpenNetwork:
    """A network that is exported with an open axis.

    Attributes:
        network: its title, and the module with its inputs at the greatest length.
        axes: the axes of each input that are open; all have the same extent.
        least, greatest: the bounds of the length.
        step: between the lengths of a sweep, from the least on.
        multiples: the length is a multiple of this.
    """

    network: Network
    axes: tuple[int, ...]
    least: int
    greatest: int
    step: int
    multiples: int = 1

    @property
    def bounds(self) -> str:
        """The bounds as the command line has them."""
        multiples = f":{self.multiples}" if self.multiples > 1 else ""
        return f"{self.least}<=length<={self.greatest}{multiples}"

    @property
    def sweep(self) -> list[int]:
        """The lengths of a sweep."""
        return [*range(self.least, self.greatest, self.step), self.greatest]

    def some(self, count: int) -> list[int]:
        """So many lengths of the sweep, evenly spread."""
        sweep = self.sweep
        places = {round(n * (len(sweep) - 1) / max(1, count - 1)) for n in range(count)}
        return [sweep[n] for n in sorted(places)]


def _tokens(count: int, vocabulary: int) -> Any:
    import torch

    return torch.randint(0, vocabulary, (1, count))


def _bert() -> tuple[Any, dict[str, Any]]:
    from transformers import BertConfig, BertModel

    config = BertConfig()
    return BertModel(config, add_pooling_layer=False), {"input_ids": _tokens(512, config.vocab_size)}


def _gpt2() -> tuple[Any, dict[str, Any]]:
    from transformers import GPT2Config, GPT2Model

    config = GPT2Config(use_cache=False)
    return GPT2Model(config), {"input_ids": _tokens(512, config.vocab_size)}


def _vit() -> tuple[Any, dict[str, Any]]:
    import torch
    from transformers import ViTConfig, ViTForImageClassification

    return ViTForImageClassification(ViTConfig()), {"pixel_values": torch.randn(8, 3, 224, 224)}


def _gru() -> tuple[Any, dict[str, Any]]:
    import torch

    return torch.nn.GRU(64, 128, num_layers=2, batch_first=True), {"input": torch.randn(1, 200, 64)}


def _speech() -> tuple[Any, dict[str, Any]]:
    """M5 of Dai et al., Very Deep Convolutional Neural Networks for Raw Waveforms (2016), for mono sound."""
    import torch
    from torch import nn

    layers: list[nn.Module] = []
    channels = 1
    for width, taps, stride in ((128, 80, 4), (128, 3, 1), (256, 3, 1), (512, 3, 1)):
        layers += [nn.Conv1d(channels, width, taps, stride), nn.BatchNorm1d(width), nn.ReLU(), nn.MaxPool1d(4)]
        channels = width
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(channels, 35))
    return model, {"sound": torch.randn(1, 1, 16000)}


def _whisper() -> tuple[Any, dict[str, Any]]:
    """The encoder of Whisper (Radford et al. 2022), of the size of transformers' default, for sounds of any length."""
    import torch
    from torch import nn
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = WhisperEncoder(WhisperConfig())

        def forward(self, frames: Any) -> Any:
            own = self.encoder
            x = nn.functional.gelu(own.conv2(nn.functional.gelu(own.conv1(frames)))).permute(0, 2, 1)
            x = x + own.embed_positions.weight[: x.shape[1]]
            for layer in own.layers:
                y = layer(x, None)
                x = y if isinstance(y, torch.Tensor) else y[0]
            return own.layer_norm(x)

    return Encoder(), {"frames": torch.randn(1, 80, 3000)}


def _unet() -> tuple[Any, dict[str, Any]]:
    import torch

    model, _ = unet()
    return model, {"x": torch.randn(1, 3, 256, 256)}


NETWORKS = {
    "bert_base": OpenNetwork(Network("BERT-base, 1 to 512 tokens", _bert), (1,), 1, 512, 8),
    "gpt2": OpenNetwork(Network("GPT-2, 1 to 512 tokens", _gpt2), (1,), 1, 512, 8),
    "vit_base": OpenNetwork(Network("ViT-base, 1 to 8 images", _vit), (0,), 1, 8, 1),
    "gru": OpenNetwork(Network("GRU, 2 layers, 1 to 200 steps", _gru), (1,), 1, 200, 4),
    "m5": OpenNetwork(Network("M5, 2,000 to 16,000 samples", _speech), (2,), 2000, 16000, 500),
    "unet": OpenNetwork(Network("U-Net, 64² to 256²", _unet), (2, 3), 64, 256, 16, 16),
    "whisper": OpenNetwork(Network("Whisper encoder, 100 to 3,000 frames", _whisper), (2,), 100, 3000, 100),
}
