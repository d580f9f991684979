"""MobileNet (Howard et al., 2017) as Relay text: `python -m benchmarks.networks.mobilenet > mobilenet.relay`."""

from __future__ import annotations

import sys

from .builder import Text

_BLOCKS = (
    (64, 1),
    (128, 2),
    (128, 1),
    (256, 2),
    (256, 1),
    (512, 2),
    *[(512, 1)] * 5,
    (1024, 2),
    (1024, 1),
)
"""Output channels and stride of each depthwise-separable block."""


def _norm(t: Text, x: str, name: str, channels: int) -> str:
    stats = [t.param(f"{name}_{part}", channels) for part in ("gamma", "beta", "mean", "var")]
    return t.call("nn.relu", t.bind(f"{t.call('nn.batch_norm', x, *stats)}.0"))


def mobilenet(image: int = 224, classes: int = 1000, batch: int = 1) -> str:
    """The network as text: input `%data` of shape (batch, 3, image, image), class probabilities out."""
    t = Text()
    x = t.param("data", batch, 3, image, image)
    first = t.param("conv0_weight", 32, 3, 3, 3)
    x = t.call("nn.conv2d", x, first, strides=[2, 2], padding=[1] * 4, channels=32, kernel_size=[3, 3])
    x = _norm(t, x, "bn0", 32)
    cin = 32
    for i, (cout, stride) in enumerate(_BLOCKS, 1):
        depth = t.param(f"block{i}_depth_weight", cin, 1, 3, 3)
        x = t.call(
            "nn.conv2d",
            x,
            depth,
            strides=[stride, stride],
            padding=[1] * 4,
            groups=cin,
            channels=cin,
            kernel_size=[3, 3],
        )
        x = _norm(t, x, f"block{i}_bn1", cin)
        point = t.param(f"block{i}_point_weight", cout, cin, 1, 1)
        x = _norm(
            t,
            t.call("nn.conv2d", x, point, padding=[0] * 4, channels=cout, kernel_size=[1, 1]),
            f"block{i}_bn2",
            cout,
        )
        cin = cout
    x = t.call("nn.batch_flatten", t.call("nn.global_avg_pool2d", x))
    x = t.call("nn.dense", x, t.param("fc_weight", classes, cin), units=classes)
    return t.text(t.call("nn.softmax", t.call("nn.bias_add", x, t.param("fc_bias", classes))))


if __name__ == "__main__":
    sys.stdout.write(mobilenet())
