"""Residual networks of basic blocks, as `relay.testing.resnet` (K. He et al.: Identity Mappings in Deep Residual Networks, 2016)."""

from __future__ import annotations

from typing import Any

from ... import relay
from ...diagnostics import UsageError
from ...ir import Expr, Function, Module
from .workload import create_workload

_UNITS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3)}
_CHANNELS = (64, 128, 256, 512)


def _norm(x: Expr, name: str) -> Expr:
    statistics = [relay.var(f"{name}_{s}") for s in ("gamma", "beta", "moving_mean", "moving_var")]
    return relay.nn.batch_norm(x, *statistics, epsilon=2e-5)[0]


def _conv(x: Expr, name: str, channels: int, kernel: int, stride: int = 1) -> Expr:
    sizes = {"strides": (stride, stride), "padding": (kernel // 2, kernel // 2), "kernel_size": (kernel, kernel)}
    return relay.nn.conv2d(x, relay.var(f"{name}_weight"), channels=channels, **sizes)


def _unit(x: Expr, name: str, channels: int, stride: int, keeps: bool) -> Expr:
    """Normalised and rectified before each convolution; the shortcut is a convolution where the shape changes."""
    first = relay.nn.relu(_norm(x, f"{name}_bn1"))
    shortcut = x if keeps else _conv(first, f"{name}_sc", channels, 1, stride)
    y = _conv(first, f"{name}_conv1", channels, 3, stride)
    y = _conv(relay.nn.relu(_norm(y, f"{name}_bn2")), f"{name}_conv2", channels, 3)
    return relay.add(y, shortcut)


def get_net(
    batch_size: int,
    num_classes: int = 1000,
    num_layers: int = 18,
    image_shape: tuple[int, ...] = (3, 224, 224),
    dtype: str = "float32",
) -> Function:
    """The network. Raises UsageError for another number of layers than 18 and 34."""
    if num_layers not in _UNITS:
        raise UsageError(f"num_layers is 18 or 34, not {num_layers}", help="deeper networks come from ONNX")
    data = relay.var("data", shape=(batch_size, *image_shape), dtype=dtype)
    if image_shape[1] <= 32:
        x = _conv(data, "conv0", 64, 3)
    else:
        x = relay.nn.relu(_norm(_conv(data, "conv0", 64, 7, 2), "bn0"))
        x = relay.nn.max_pool2d(x, pool_size=(3, 3), strides=(2, 2), padding=(1, 1))
    for stage, (units, channels) in enumerate(zip(_UNITS[num_layers], _CHANNELS, strict=True), 1):
        for unit in range(1, units + 1):
            stride = 2 if stage > 1 and unit == 1 else 1
            x = _unit(x, f"stage{stage}_unit{unit}", channels, stride, keeps=unit > 1)
    x = relay.nn.batch_flatten(relay.nn.global_avg_pool2d(relay.nn.relu(_norm(x, "bn1"))))
    bias = relay.var("fc1_bias")
    x = relay.nn.bias_add(relay.nn.dense(x, relay.var("fc1_weight"), units=num_classes), bias, axis=-1)
    x = relay.nn.softmax(x)
    return Function(tuple(relay.analysis.free_vars(x)), x)


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    num_layers: int = 18,
    image_shape: tuple[int, ...] = (3, 224, 224),
    dtype: str = "float32",
) -> tuple[Module, dict[str, Any]]:
    """The network as a module, and its weights."""
    return create_workload(get_net(batch_size, num_classes, num_layers, image_shape, dtype))
