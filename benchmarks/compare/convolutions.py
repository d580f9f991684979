"""Networks of 3 x 3 convolutions that transformers does not have, as modules of torch with their inputs by name."""

from __future__ import annotations

from typing import Any


def unet() -> tuple[Any, dict[str, Any]]:
    """Ronneberger et al. 2015 with 16, 32 and 64 channels on 128 by 128 pixels."""
    import torch
    from torch import nn

    def block(inputs: int, outputs: int) -> Any:
        layers = []
        for i in (inputs, outputs):
            layers += [nn.Conv2d(i, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU()]
        return nn.Sequential(*layers)

    class UNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.down1, self.down2, self.middle = block(3, 16), block(16, 32), block(32, 64)
            self.up2, self.up1 = nn.ConvTranspose2d(64, 32, 2, 2), nn.ConvTranspose2d(32, 16, 2, 2)
            self.join2, self.join1 = block(64, 32), block(32, 16)
            self.pool, self.head = nn.MaxPool2d(2), nn.Conv2d(16, 1, 1)

        def forward(self, x: Any) -> Any:
            a = self.down1(x)
            b = self.down2(self.pool(a))
            c = self.middle(self.pool(b))
            b = self.join2(torch.cat([self.up2(c), b], 1))
            return self.head(self.join1(torch.cat([self.up1(b), a], 1)))

    return UNet(), {"x": torch.randn(1, 3, 128, 128)}


def vgg16() -> tuple[Any, dict[str, Any]]:
    """Simonyan & Zisserman 2015, configuration D, on 224 by 224 pixels."""
    import torch
    from torch import nn

    layers: list[Any] = []
    inputs = 3
    for outputs, count in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(count):
            layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU()]
            inputs = outputs
        layers.append(nn.MaxPool2d(2))
    head = [nn.Flatten(), nn.Linear(512 * 7 * 7, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU()]
    return nn.Sequential(*layers, *head, nn.Linear(4096, 1000)), {"x": torch.randn(1, 3, 224, 224)}


def diffusion_unet() -> tuple[Any, dict[str, Any]]:
    """A U-Net as denoisers have them (Ho et al. 2020): group normalisations, SiLU, attention; 128 and 256 channels, 32 by 32 pixels."""
    import torch
    from torch import nn
    from torch.nn import functional as f

    class Block(nn.Module):
        def __init__(self, inputs: int, outputs: int) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.GroupNorm(32, inputs), nn.GroupNorm(32, outputs)
            self.conv1, self.conv2 = (nn.Conv2d(i, outputs, 3, padding=1) for i in (inputs, outputs))
            self.skip = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

        def forward(self, x: Any) -> Any:
            y = self.conv1(f.silu(self.norm1(x)))
            return self.skip(x) + self.conv2(f.silu(self.norm2(y)))

    class Attention(nn.Module):
        def __init__(self, channels: int) -> None:
            super().__init__()
            self.norm, self.scale = nn.GroupNorm(32, channels), channels**-0.5
            self.inside, self.outside = nn.Conv2d(channels, 3 * channels, 1), nn.Conv2d(channels, channels, 1)

        def forward(self, x: Any) -> Any:
            q, k, v = self.inside(self.norm(x)).flatten(2).chunk(3, 1)
            weights = torch.softmax(q.transpose(1, 2) @ k * self.scale, -1)
            return x + self.outside((v @ weights.transpose(1, 2)).reshape(x.shape))

    class UNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.down = nn.Conv2d(3, 128, 3, padding=1), nn.Conv2d(128, 128, 3, 2, 1)
            self.high = nn.Sequential(Block(128, 128), Block(128, 128))
            self.low = nn.Sequential(Block(128, 256), Block(256, 256))
            self.middle = nn.Sequential(Attention(256), Block(256, 256))
            self.join_low, self.join_high = Block(512, 256), Block(256, 128)
            self.up = nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(256, 128, 3, padding=1))
            self.last = nn.Sequential(nn.GroupNorm(32, 128), nn.SiLU(), nn.Conv2d(128, 3, 3, padding=1))

        def forward(self, x: Any) -> Any:
            a = self.high(self.first(x))
            b = self.low(self.down(a))
            c = self.join_low(torch.cat([self.middle(b), b], 1))
            return self.last(self.join_high(torch.cat([self.up(c), a], 1)))

    return UNet(), {"x": torch.randn(1, 3, 32, 32)}


def resnet_3d() -> tuple[Any, dict[str, Any]]:
    """R3D-18 (Tran et al. 2018): a ResNet of 3 x 3 x 3 convolutions, on 8 frames of 112 by 112 pixels."""
    import torch
    from torch import nn

    def convolution(inputs: int, outputs: int, window: int, stride: int) -> list[Any]:
        layer = nn.Conv3d(inputs, outputs, window, stride, padding=window // 2, bias=False)
        return [layer, nn.BatchNorm3d(outputs)]

    class Block(nn.Module):
        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            first, second = convolution(inputs, outputs, 3, stride), convolution(outputs, outputs, 3, 1)
            self.body = nn.Sequential(*first, nn.ReLU(), *second)
            self.skip = nn.Sequential(*convolution(inputs, outputs, 1, stride)) if stride > 1 else nn.Identity()

        def forward(self, x: Any) -> Any:
            return torch.relu(self.body(x) + self.skip(x))

    stem = nn.Conv3d(3, 64, (3, 7, 7), (1, 2, 2), (1, 3, 3), bias=False)
    layers = [stem, nn.BatchNorm3d(64), nn.ReLU()]
    inputs = 64
    for outputs in (64, 128, 256, 512):
        layers += [Block(inputs, outputs, 1 + (outputs > inputs)), Block(outputs, outputs, 1)]
        inputs = outputs
    head = [nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(512, 400)]
    return nn.Sequential(*layers, *head), {"x": torch.randn(1, 3, 8, 112, 112)}
