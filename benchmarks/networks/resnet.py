"""ResNet (He et al., 2015) as Relay text: `python -m benchmarks.networks.resnet [18|34|50] > resnet.relay`."""

from __future__ import annotations

import sys

from .builder import Text

_STAGES = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3)}


def _conv(t: Text, x: str, name: str, cin: int, cout: int, kernel: int, stride: int = 1) -> str:
    weight = t.param(f"{name}_weight", cout, cin, kernel, kernel)
    pad = kernel // 2
    return t.call(
        "nn.conv2d", x, weight, strides=[stride, stride], padding=[pad] * 4, channels=cout, kernel_size=[kernel, kernel]
    )


def _norm(t: Text, x: str, name: str, channels: int) -> str:
    stats = [t.param(f"{name}_{part}", channels) for part in ("gamma", "beta", "mean", "var")]
    return t.bind(f"{t.call('nn.batch_norm', x, *stats)}.0")


def _basic(t: Text, x: str, name: str, cin: int, cout: int, stride: int) -> str:
    y = t.call("nn.relu", _norm(t, _conv(t, x, f"{name}_conv1", cin, cout, 3, stride), f"{name}_bn1", cout))
    return _norm(t, _conv(t, y, f"{name}_conv2", cout, cout, 3), f"{name}_bn2", cout)


def _bottleneck(t: Text, x: str, name: str, cin: int, cout: int, stride: int) -> str:
    inner = cout // 4
    y = t.call("nn.relu", _norm(t, _conv(t, x, f"{name}_conv1", cin, inner, 1), f"{name}_bn1", inner))
    y = t.call("nn.relu", _norm(t, _conv(t, y, f"{name}_conv2", inner, inner, 3, stride), f"{name}_bn2", inner))
    return _norm(t, _conv(t, y, f"{name}_conv3", inner, cout, 1), f"{name}_bn3", cout)


def resnet(depth: int = 18, image: int = 224, classes: int = 1000, batch: int = 1) -> str:
    """The network as text: input `%data` of shape (batch, 3, image, image), class probabilities out."""
    wide = 4 if depth >= 50 else 1
    block = _bottleneck if depth >= 50 else _basic
    t = Text()
    x = t.param("data", batch, 3, image, image)
    x = t.call("nn.relu", _norm(t, _conv(t, x, "conv0", 3, 64, 7, 2), "bn0", 64))
    x = t.call("nn.max_pool2d", x, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1])
    cin = 64
    for stage, count in enumerate(_STAGES[depth]):
        cout = 64 * 2**stage * wide
        for unit in range(count):
            name = f"stage{stage + 1}_unit{unit + 1}"
            stride = 2 if stage > 0 and unit == 0 else 1
            y = block(t, x, name, cin, cout, stride)
            if cin != cout or stride != 1:
                x = _norm(t, _conv(t, x, f"{name}_sc", cin, cout, 1, stride), f"{name}_sc_bn", cout)
            x = t.call("nn.relu", t.call("add", y, x))
            cin = cout
    x = t.call("nn.batch_flatten", t.call("nn.global_avg_pool2d", x))
    x = t.call("nn.dense", x, t.param("fc_weight", classes, cin), units=classes)
    x = t.call("nn.bias_add", x, t.param("fc_bias", classes))
    return t.text(t.call("nn.softmax", x))


if __name__ == "__main__":
    sys.stdout.write(resnet(int(sys.argv[1]) if len(sys.argv) > 1 else 18))
