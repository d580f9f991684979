"""VGG-16 (Simonyan and Zisserman, 2014) as Relay text: `python -m benchmarks.networks.vgg > vgg.relay`."""

from __future__ import annotations

import sys

from .builder import Text

_STAGES = ((2, 64), (2, 128), (3, 256), (3, 512), (3, 512))
"""Convolutions of each stage, and their channels."""


def vgg(image: int = 224, classes: int = 1000, batch: int = 1) -> str:
    """The network as text: input `%data` of shape (batch, 3, image, image), class probabilities out."""
    t = Text()
    x, cin = t.param("data", batch, 3, image, image), 3
    for stage, (count, cout) in enumerate(_STAGES, 1):
        for unit in range(1, count + 1):
            weight = t.param(f"conv{stage}_{unit}_weight", cout, cin, 3, 3)
            bias = t.param(f"conv{stage}_{unit}_bias", cout)
            x = t.call("nn.conv2d", x, weight, padding=[1] * 4, channels=cout, kernel_size=[3, 3])
            x = t.call("nn.relu", t.call("nn.bias_add", x, bias))
            cin = cout
        x = t.call("nn.max_pool2d", x, pool_size=[2, 2], strides=[2, 2])
    x, width = t.call("nn.batch_flatten", x), cin * (image // 32) ** 2
    for name, units in (("fc6", 4096), ("fc7", 4096), ("fc8", classes)):
        x = t.call("nn.dense", x, t.param(f"{name}_weight", units, width), units=units)
        x = t.call("nn.bias_add", x, t.param(f"{name}_bias", units))
        x = x if name == "fc8" else t.call("nn.relu", x)
        width = units
    return t.text(t.call("nn.softmax", x))


if __name__ == "__main__":
    sys.stdout.write(vgg())
