"""The four networks of MLPerf Tiny (Banbury et al., 2021): `python -m benchmarks.networks.mlperf_tiny NAME > net.relay` prints Relay text.

Batch normalisations are folded into weights and biases, as in networks that are deployed. With `--int8`, a network is quantized after
training, from random inputs; with `-o FOLDER`, texts and weights of all four are written, in both forms.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from .builder import Text

Shape = tuple[int, int, int]
"""Channels, height, width."""


class Layer(NamedTuple):
    """A layer with its bias.

    Attributes:
        kind: `conv`, `depthwise`, `dense`, `add`, `average` of all pixels, `softmax`.
        inputs: numbers of the tensors that it reads: 0 is the network's input, n the result of layer n - 1.
        shape, result: of its first input and of its result.
        kernel, stride, padding: of a convolution; the padding before and behind each axis.
    """

    kind: str
    inputs: tuple[int, ...]
    shape: Shape
    result: Shape
    kernel: tuple[int, int] = (1, 1)
    stride: int = 1
    padding: tuple[tuple[int, int], tuple[int, int]] = ((0, 0), (0, 0))
    relu: bool = False


def _same(size: int, kernel: int, stride: int) -> tuple[int, int]:
    """TensorFlow's padding `SAME` of an axis, before and behind."""
    total = max(0, (-(-size // stride) - 1) * stride + kernel - size)
    return total // 2, total - total // 2


@dataclass
class Layers:
    """The layers of a network, in order. Each method adds one that reads the last tensor, unless it says another."""

    input: Shape
    rows: list[Layer] = field(default_factory=list)

    @property
    def last(self) -> int:
        """The number of the last tensor."""
        return len(self.rows)

    def shape(self, tensor: int) -> Shape:
        """The shape of a tensor."""
        return self.rows[tensor - 1].result if tensor else self.input

    def conv(
        self,
        cout: int,
        kernel: tuple[int, int],
        stride: int = 1,
        *,
        depthwise: bool = False,
        relu: bool = True,
        source: int | None = None,
    ) -> int:
        """A convolution, with TensorFlow's padding."""
        tensor = self.last if source is None else source
        shape = self.shape(tensor)
        padding = (_same(shape[1], kernel[0], stride), _same(shape[2], kernel[1], stride))
        result = (cout, -(-shape[1] // stride), -(-shape[2] // stride))
        kind = "depthwise" if depthwise else "conv"
        self.rows.append(Layer(kind, (tensor,), shape, result, kernel, stride, padding, relu))
        return self.last

    def dense(self, units: int, relu: bool = False) -> int:
        """A dense layer."""
        self.rows.append(Layer("dense", (self.last,), self.shape(self.last), (units, 1, 1), relu=relu))
        return self.last

    def add(self, first: int, second: int) -> int:
        """The sum of two tensors, rectified."""
        shape = self.shape(first)
        self.rows.append(Layer("add", (first, second), shape, shape, relu=True))
        return self.last

    def classify(self, classes: int) -> None:
        """The average of all pixels, a dense layer and a softmax."""
        shape = self.shape(self.last)
        self.rows.append(Layer("average", (self.last,), shape, (shape[0], 1, 1), shape[1:]))
        self.dense(classes)
        self.rows.append(Layer("softmax", (self.last,), (classes, 1, 1), (classes, 1, 1)))


def keyword_spotting() -> Layers:
    """DS-CNN: 49 windows of 10 coefficients, 12 words; 2.7 million multiply-adds."""
    net = Layers((1, 49, 10))
    net.conv(64, (10, 4), 2)
    for _ in range(4):
        net.conv(64, (3, 3), depthwise=True)
        net.conv(64, (1, 1))
    net.classify(12)
    return net


_BLOCKS = ((16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), *[(128, 1)] * 5, (256, 2), (256, 1))
"""Output channels and stride of each block of a MobileNet of a quarter of the width."""


def visual_wake_words() -> Layers:
    """MobileNet-v1 of a quarter of the width on 96 x 96 pixels: a person or none; 7.5 million multiply-adds."""
    net = Layers((3, 96, 96))
    net.conv(8, (3, 3), 2)
    for cout, stride in _BLOCKS:
        net.conv(net.shape(net.last)[0], (3, 3), stride, depthwise=True)
        net.conv(cout, (1, 1))
    net.classify(2)
    return net


def image_classification() -> Layers:
    """ResNet-8 on 32 x 32 pixels, 10 classes; 12.5 million multiply-adds."""
    net = Layers((3, 32, 32))
    tensor = net.conv(16, (3, 3))
    for cout, stride in ((16, 1), (32, 2), (64, 2)):
        net.conv(cout, (3, 3), stride)
        branch = net.conv(cout, (3, 3), relu=False)
        shortcut = net.conv(cout, (1, 1), stride, relu=False, source=tensor) if stride > 1 else tensor
        tensor = net.add(branch, shortcut)
    net.classify(10)
    return net


def anomaly_detection() -> Layers:
    """An auto-encoder of dense layers on 640 coefficients; 0.26 million multiply-adds."""
    net = Layers((640, 1, 1))
    for units in (*[128] * 4, 8, *[128] * 4):
        net.dense(units, relu=True)
    net.dense(640)
    return net


NETWORKS: Mapping[str, Callable[[], Layers]] = {
    f.__name__: f for f in (keyword_spotting, visual_wake_words, image_classification, anomaly_detection)
}


def relay_text(net: Layers) -> str:
    """The network as Relay text; weights are parameters."""
    t = Text()
    is_flat = net.input[1:] == (1, 1)
    tensors = [t.param("data", 1, *(net.input[:1] if is_flat else net.input))]
    for n, layer in enumerate(net.rows):
        operands = [tensors[i] for i in layer.inputs]
        cin, cout = layer.shape[0], layer.result[0]
        if layer.kind in ("conv", "depthwise"):
            (top, bottom), (left, right) = layer.padding
            groups: dict[str, Any] = {"groups": cin} if layer.kind == "depthwise" else {}
            weight = t.param(f"w{n}", cout, 1 if groups else cin, *layer.kernel)
            sizes = {"channels": cout, "kernel_size": list(layer.kernel), **groups}
            x = t.call(
                "nn.conv2d",
                *operands,
                weight,
                strides=[layer.stride] * 2,
                padding=[top, left, bottom, right],
                **sizes,
            )
        elif layer.kind == "dense":
            x = t.call("nn.dense", *operands, t.param(f"w{n}", cout, cin), units=cout)
        elif layer.kind == "average":
            x = t.call("nn.batch_flatten", t.call("nn.global_avg_pool2d", *operands))
        else:
            x = t.call({"add": "add", "softmax": "nn.softmax"}[layer.kind], *operands)
        if layer.kind in ("conv", "depthwise", "dense"):
            x = t.call("nn.bias_add", x, t.param(f"b{n}", cout))
        tensors.append(t.call("nn.relu", x) if layer.relu else x)
    return t.text(tensors[-1])


def float_network(name: str, softmax: bool = True) -> tuple[Any, dict[str, Any]]:
    """The module in float32 and its weights, always the same: normal numbers whose sums keep the scale of the data. Without `softmax`, the results
    of the last layer with weights."""
    import numpy as np

    import irtool

    net = NETWORKS[name]()
    if not softmax and net.rows[-1].kind == "softmax":
        net.rows.pop()
    module = irtool.parse(relay_text(net))
    weights = {}
    for param in module["main"].params[1:]:
        shape = tuple(int(d) for d in param.checked_type.shape)
        rng = np.random.default_rng(crc32(f"{name}.{param.name}".encode()))
        inputs = int(np.prod(shape[1:])) if len(shape) > 1 else 50
        weights[param.name] = (rng.standard_normal(shape) * (2 / inputs) ** 0.5).astype("float32")
    return module, weights


def int8_network(
    name: str, form: str = "integer", dtype: str = "uint8", softmax: bool = True
) -> tuple[Any, dict[str, Any]]:
    """The module in 8 bits and its weights: ranges are those of four random inputs. `form` and `dtype`: as `irtool quantize` takes them."""
    import numpy as np

    import irtool

    module, weights = float_network(name, softmax)
    shape = tuple(int(d) for d in module["main"].params[0].checked_type.shape)
    samples = np.random.default_rng(0).uniform(-1, 1, (4, *shape)).astype("float32")
    options = irtool.QuantizeOptions(form=form, dtype=dtype, report=False)
    quantized = irtool.quantize(module, weights, {"data": samples}, options)
    return quantized.module, dict(quantized.params)


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="?", choices=NETWORKS, help="the network to print")
    parser.add_argument("--int8", action="store_true", help="quantize it")
    parser.add_argument("-o", dest="folder", type=Path, help="write all networks and their weights into a folder")
    arguments = parser.parse_args()
    import numpy as np

    import irtool

    if arguments.folder is not None:
        arguments.folder.mkdir(parents=True, exist_ok=True)
        for name in NETWORKS:
            for suffix, network in (("", float_network), ("_int8", int8_network)):
                module, weights = network(name)
                (arguments.folder / f"{name}{suffix}.relay").write_text(irtool.to_text(module))
                np.savez(arguments.folder / f"{name}{suffix}.npz", **weights)
    elif arguments.name is None:
        parser.error("name a network, or a folder: -o")
    elif arguments.int8:
        sys.stdout.write(irtool.to_text(int8_network(arguments.name)[0]))
    else:
        sys.stdout.write(relay_text(NETWORKS[arguments.name]()))


if __name__ == "__main__":
    _main()
