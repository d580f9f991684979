"""A perceptron of three layers, as `relay.testing.mlp`."""

from __future__ import annotations

from math import prod
from typing import Any

from ... import relay
from ...ir import Function, Module
from .workload import create_workload


def get_net(
    batch_size: int, num_classes: int = 10, image_shape: tuple[int, ...] = (1, 28, 28), dtype: str = "float32"
) -> Function:
    """The network: two hidden layers of 128 and 64 units, and softmax."""
    data = relay.var("data", shape=(batch_size, *image_shape), dtype=dtype)
    x = relay.nn.batch_flatten(data)
    width = prod(image_shape)
    for i, units in enumerate((128, 64, num_classes), 1):
        weight = relay.var(f"fc{i}_weight", shape=(units, width), dtype=dtype)
        bias = relay.var(f"fc{i}_bias", shape=(units,), dtype=dtype)
        x = relay.nn.bias_add(relay.nn.dense(x, weight, units=units), bias, axis=-1)
        x = relay.nn.relu(x) if i < 3 else relay.nn.softmax(x)
        width = units
    return Function(tuple(relay.analysis.free_vars(x)), x)


def get_workload(
    batch_size: int, num_classes: int = 10, image_shape: tuple[int, ...] = (1, 28, 28), dtype: str = "float32"
) -> tuple[Module, dict[str, Any]]:
    """The network as a module, and its weights."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype))
