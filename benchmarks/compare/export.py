"""Full-size networks from torch and transformers, with random weights, as ONNX files."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..signals import emptiness, enliven
from . import convolutions


@dataclass(frozen=True)
class Network:
    """A network: its title in tables, and the constructor of the module and its inputs by name."""

    title: str
    make: Callable[[], tuple[Any, dict[str, Any]]]


def _image(size: int = 224) -> Any:
    import torch

    return torch.randn(1, 3, size, size)


def _tokens(count: int, vocabulary: int) -> Any:
    import torch

    return torch.randint(0, vocabulary, (1, count))


def _vision(model: str, config: str, size: int = 224, **options: Any) -> Callable[[], tuple[Any, dict[str, Any]]]:
    def make() -> tuple[Any, dict[str, Any]]:
        import transformers

        net = getattr(transformers, model)(getattr(transformers, config)(**options))
        return net, {"pixel_values": _image(size)}

    return make


def _bert() -> tuple[Any, dict[str, Any]]:
    from transformers import BertConfig, BertModel

    config = BertConfig()
    return BertModel(config), {"input_ids": _tokens(128, config.vocab_size)}


def _gpt2() -> tuple[Any, dict[str, Any]]:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(use_cache=False)
    return GPT2LMHeadModel(config), {"input_ids": _tokens(64, config.vocab_size)}


def _whisper() -> tuple[Any, dict[str, Any]]:
    import torch
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    return WhisperEncoder(WhisperConfig()), {"input_features": torch.randn(1, 80, 3000)}


def _lstm() -> tuple[Any, dict[str, Any]]:
    import torch

    return torch.nn.LSTM(64, 128, num_layers=2, batch_first=True), {"input": torch.randn(1, 16, 64)}


NETWORKS = {
    "resnet18": Network(
        "ResNet-18",
        _vision(
            "ResNetForImageClassification",
            "ResNetConfig",
            layer_type="basic",
            hidden_sizes=[64, 128, 256, 512],
            depths=[2, 2, 2, 2],
        ),
    ),
    "resnet50": Network("ResNet-50", _vision("ResNetForImageClassification", "ResNetConfig")),
    "vgg16": Network("VGG-16", convolutions.vgg16),
    "mobilenet_v2": Network("MobileNet-v2", _vision("MobileNetV2ForImageClassification", "MobileNetV2Config")),
    "efficientnet_b0": Network(
        "EfficientNet-B0",
        _vision(
            "EfficientNetForImageClassification",
            "EfficientNetConfig",
            width_coefficient=1.0,
            depth_coefficient=1.0,
            image_size=224,
            hidden_dim=1280,
        ),
    ),
    "convnext_tiny": Network("ConvNeXt-tiny", _vision("ConvNextForImageClassification", "ConvNextConfig")),
    "unet": Network("U-Net, 128²", convolutions.unet),
    "diffusion_unet": Network("Diffusion U-Net, 32²", convolutions.diffusion_unet),
    "r3d18": Network("R3D-18, 8×112²", convolutions.resnet_3d),
    "bert_base": Network("BERT-base, 128", _bert),
    "gpt2": Network("GPT-2, 64", _gpt2),
    "vit_base": Network("ViT-base", _vision("ViTForImageClassification", "ViTConfig")),
    "swin_tiny": Network("Swin-tiny", _vision("SwinForImageClassification", "SwinConfig")),
    "segformer_b0": Network("SegFormer-b0", _vision("SegformerForSemanticSegmentation", "SegformerConfig", 512)),
    "whisper_tiny": Network("Whisper-tiny encoder, 3000", _whisper),
    "lstm": Network("LSTM, 2 layers, 16×64→128", _lstm),  # as it is written in tables
}


def export(network: Network, name: str, folder: Path, axes: Mapping[int, str] | None = None) -> Path:
    """The ONNX file of a network, `NAME.onnx` in the folder, with its inputs in `NAME.npz`; made where it is missing. `axes`: names of
    axes of all inputs whose extents stay open.

    Weights and inputs are random, of a fixed seed, so the file is the same each time with the same torch.
    """
    path = folder / f"{name}.onnx"
    if path.exists() and (folder / f"{name}.npz").exists():
        return path
    import numpy as np
    import torch

    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    model, inputs = network.make()
    model.eval()
    _reset(model)
    model = _first_output_only(model)
    enliven(model, lambda: model(*inputs.values()))
    with torch.no_grad():
        if why := emptiness(model(*inputs.values())):
            sys.exit(f"{name}: {why}, so that agreement on it shows nothing")
    partial = folder / f"{name}.part.onnx"
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _write(model, inputs, partial, axes or {})
    np.savez(folder / f"{name}.npz", **{n: v.numpy() for n, v in inputs.items()})
    partial.rename(path)
    return path


def _reset(model: Any) -> None:
    """Gives layers the weights of torch's own initialization: those of transformers are of one deviation for all sizes."""
    import torch

    for layer in model.modules():
        if isinstance(layer, torch.nn.Linear | torch.nn.modules.conv._ConvNd):
            layer.reset_parameters()


def _write(model: Any, inputs: dict[str, Any], path: Path, axes: Mapping[int, str]) -> None:
    """Writes the file with the exporter by tracing, or with the newer one where that lacks an operator."""
    import torch

    export_options: dict[str, Any] = {"input_names": list(inputs), "external_data": False}
    if axes:
        export_options["dynamic_axes"] = {n: dict(axes) for n in inputs}
    try:
        torch.onnx.export(model, tuple(inputs.values()), str(path), opset_version=17, dynamo=False, **export_options)
    except torch.onnx.errors.UnsupportedOperatorError:
        torch.onnx.export(model, tuple(inputs.values()), str(path), dynamo=True, verbose=False, **export_options)


def _first_output_only(model: Any) -> Any:
    """The model with its first output, the logits or hidden states, as the only one."""
    import torch

    class FirstOutput(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model
            self.keyword = _first_argument(model)

        def forward(self, x: Any) -> Any:
            outputs = self.model(**{self.keyword: x}) if self.keyword else self.model(x)
            return outputs if isinstance(outputs, torch.Tensor) else outputs[0]

    return FirstOutput().eval()


def _first_argument(model: Any) -> str:
    """The name of the first argument of a model of transformers; empty for others, which take it by its place."""
    import inspect

    own = type(model).__module__.startswith("transformers.")
    return next(iter(inspect.signature(model.forward).parameters)) if own else ""


if __name__ == "__main__":
    print(export(NETWORKS[sys.argv[1]], sys.argv[1], Path(sys.argv[2])))
