"""The networks of the comparison: those of `benchmarks.compare` that pages run, and smaller ones."""

from __future__ import annotations

from typing import Any

from ..compare import export
from ..compare.export import Network


def _keyword_spotter() -> tuple[Any, dict[str, Any]]:
    """DS-CNN (Zhang et al., 2017), as MLPerf Tiny has it."""
    import torch
    from torch import nn

    layers: list[nn.Module] = [nn.Conv2d(1, 64, (10, 4), 2, (5, 1)), nn.BatchNorm2d(64), nn.ReLU()]
    for _ in range(4):
        layers += [nn.Conv2d(64, 64, 3, 1, 1, groups=64), nn.BatchNorm2d(64), nn.ReLU()]
        layers += [nn.Conv2d(64, 64, 1), nn.BatchNorm2d(64), nn.ReLU()]
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 12), nn.Softmax(-1)]
    return nn.Sequential(*layers), {"features": torch.randn(1, 1, 49, 10)}


def _voice_detector() -> tuple[Any, dict[str, Any]]:
    """Convolutions over a spectrum and an LSTM cell, of the size of Silero VAD."""
    import torch
    from torch import nn

    class Detector(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            widths = ((129, 128, 1), (128, 64, 2), (64, 64, 2), (64, 128, 1))
            self.convolutions = nn.Sequential(*(x for i, o, s in widths for x in (nn.Conv1d(i, o, 3, s, 1), nn.ReLU())))
            self.lstm = nn.LSTM(128, 128, batch_first=True)
            self.head = nn.Linear(128, 1)

        def forward(self, spectrum: Any) -> Any:
            rows, _ = self.lstm(self.convolutions(spectrum).transpose(1, 2))
            return torch.sigmoid(self.head(torch.relu(rows)))

    return Detector(), {"spectrum": torch.randn(1, 129, 4)}


def _small_bert() -> tuple[Any, dict[str, Any]]:
    import torch
    from transformers import BertConfig, BertModel

    config = BertConfig(num_hidden_layers=4, hidden_size=312, num_attention_heads=12, intermediate_size=1200)
    return BertModel(config), {"input_ids": torch.randint(0, config.vocab_size, (1, 64))}


NETWORKS = {
    "mobilenet_v2": export.NETWORKS["mobilenet_v2"],
    "efficientnet_b0": export.NETWORKS["efficientnet_b0"],
    "keyword_spotter": Network("Keyword spotter (DS-CNN)", _keyword_spotter),
    "unet": export.NETWORKS["unet"],
    "bert_4": Network("BERT, 4 layers, 64 tokens", _small_bert),
    "voice_detector": Network("Voice detector, 4 frames", _voice_detector),
}
