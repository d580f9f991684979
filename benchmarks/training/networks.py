"""Networks to train, as modules of torch with random weights, and a batch for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class TrainedNetwork:
    """A network: its title, and the constructor of the module, a batch of inputs, and a batch of classes."""

    title: str
    make: Callable[[], tuple[Any, Any, Any]]


def _classes(count: int, *shape: int) -> Any:
    import torch

    return torch.randint(0, count, shape)


def _resnet18() -> tuple[Any, Any, Any]:
    """ResNet-18 of He et al. 2015."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, before: int, after: int, stride: int) -> None:
            super().__init__()
            self.first = nn.Sequential(nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after))
            self.second = nn.Sequential(nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after))
            self.other = nn.Sequential()
            if stride > 1 or before != after:
                self.other = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

        def forward(self, x: Any) -> Any:
            return torch.relu(self.second(torch.relu(self.first(x))) + self.other(x))

    layers: list[Any] = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    before = 64
    for after, stride in ((64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1)):
        layers.append(Block(before, after, stride))
        before = after
    net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 100))
    return net, torch.randn(8, 3, 64, 64), _classes(100, 8)


def _mobilenet_v2() -> tuple[Any, Any, Any]:
    """MobileNet-v2 of Sandler et al. 2018."""
    import torch
    from torch import nn

    class Inverted(nn.Module):
        def __init__(self, before: int, after: int, stride: int, factor: int) -> None:
            super().__init__()
            hidden = before * factor
            layers: list[Any] = []
            if factor != 1:
                layers = [nn.Conv2d(before, hidden, 1, bias=False), nn.BatchNorm2d(hidden), nn.ReLU6()]
            layers += [nn.Conv2d(hidden, hidden, 3, stride, 1, groups=hidden, bias=False), nn.BatchNorm2d(hidden)]
            layers += [nn.ReLU6(), nn.Conv2d(hidden, after, 1, bias=False), nn.BatchNorm2d(after)]
            self.layers = nn.Sequential(*layers)
            self.adds = stride == 1 and before == after

        def forward(self, x: Any) -> Any:
            return x + self.layers(x) if self.adds else self.layers(x)

    layers: list[Any] = [nn.Conv2d(3, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU6()]
    before = 32
    stages = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
    for factor, after, count, stride in stages:
        for k in range(count):
            layers.append(Inverted(before, after, stride if k == 0 else 1, factor))
            before = after
    layers += [nn.Conv2d(320, 1280, 1, bias=False), nn.BatchNorm2d(1280), nn.ReLU6()]
    net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 100))
    return net, torch.randn(8, 3, 96, 96), _classes(100, 8)


def _bert() -> tuple[Any, Any, Any]:
    """A BERT (Devlin et al. 2018) of 4 layers, 256 wide, with 4 heads, that classifies texts."""
    import torch
    from torch import nn

    width, heads, words = 256, 4, 5000

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
            self.joined, self.wide, self.narrow = (
                nn.Linear(width, width),
                nn.Linear(width, 4 * width),
                nn.Linear(4 * width, width),
            )
            self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)

        def forward(self, x: Any) -> Any:
            def split(e: Any) -> Any:
                return e.reshape(x.shape[0], x.shape[1], heads, width // heads).transpose(1, 2)

            scores = split(self.query(x)) @ split(self.key(x)).transpose(2, 3) * (width // heads) ** -0.5
            mixed = (torch.softmax(scores, -1) @ split(self.value(x))).transpose(1, 2).reshape(x.shape)
            x = self.first(x + self.joined(mixed))
            return self.second(x + self.narrow(nn.functional.gelu(self.wide(x))))

    class Bert(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(words, width), nn.Parameter(0.02 * torch.randn(128, width))
            self.layers, self.scores = nn.Sequential(*[Layer() for _ in range(4)]), nn.Linear(width, 4)

        def forward(self, numbers: Any) -> Any:
            return self.scores(self.layers(self.words(numbers) + self.places)[:, 0])

    return Bert(), _classes(words, 4, 128), _classes(4, 4)


def _unet() -> tuple[Any, Any, Any]:
    """A U-Net (Ronneberger et al. 2015) of three levels that classifies pixels."""
    import torch
    from torch import nn

    def twice(before: int, after: int) -> Any:
        layers: list[Any] = []
        for c in (before, after):
            layers += [nn.Conv2d(c, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU()]
        return nn.Sequential(*layers)

    class UNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.down = nn.ModuleList([twice(3, 16), twice(16, 32), twice(32, 64)])
            self.up = nn.ModuleList([nn.ConvTranspose2d(64, 32, 2, 2), nn.ConvTranspose2d(32, 16, 2, 2)])
            self.joined = nn.ModuleList([twice(64, 32), twice(32, 16)])
            self.last = nn.Conv2d(16, 4, 1)

        def forward(self, x: Any) -> Any:
            a = self.down[0](x)
            b = self.down[1](nn.functional.max_pool2d(a, 2))
            c = self.down[2](nn.functional.max_pool2d(b, 2))
            c = self.joined[0](torch.cat([self.up[0](c), b], 1))
            return self.last(self.joined[1](torch.cat([self.up[1](c), a], 1)))

    return UNet(), torch.randn(4, 3, 64, 64), _classes(4, 4, 64, 64)


def _mlp() -> tuple[Any, Any, Any]:
    import torch
    from torch import nn

    net = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    return net, torch.randn(64, 784), _classes(10, 64)


def _lstm() -> tuple[Any, Any, Any]:
    """An LSTM (Hochreiter and Schmidhuber 1997) that classifies sequences of 32 vectors."""
    import torch
    from torch import nn

    class Lstm(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.scores = nn.LSTM(64, 128, batch_first=True), nn.Linear(128, 10)

        def forward(self, x: Any) -> Any:
            return self.scores(self.layer(x)[0][:, -1])

    return Lstm(), torch.randn(16, 32, 64), _classes(10, 16)


NETWORKS = {
    "resnet18": TrainedNetwork("ResNet-18, 8 x 64²", _resnet18),
    "mobilenet_v2": TrainedNetwork("MobileNet-v2, 8 x 96²", _mobilenet_v2),
    "bert": TrainedNetwork("BERT of 4 layers, 4 x 128 words", _bert),
    "unet": TrainedNetwork("U-Net, 4 x 64²", _unet),
    "mlp": TrainedNetwork("MLP 784-512-512-10, 64", _mlp),
    "lstm": TrainedNetwork("LSTM of 128, 16 x 32 steps", _lstm),
}
