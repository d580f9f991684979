"""Small networks to train, as text, with random weights."""

from __future__ import annotations

from typing import Any

import numpy as np

import irtool
from irtool.ir import Module, TensorType

PERCEPTRON = """#[version = "0.0.5"]
def @main(%x: Tensor[(6, 5), float32], %w: Tensor[(7, 5), float32], %b: Tensor[(7), float32], %v: Tensor[(4, 7), float32]) {
  %0 = nn.bias_add(nn.dense(%x, %w, units=7), %b);
  nn.dense(tanh(%0), %v, units=4)
}
"""

IMAGES = """#[version = "0.0.5"]
def @main(%x: Tensor[(4, 3, 8, 8), float32], %w: Tensor[(5, 3, 3, 3), float32], %gamma: Tensor[(5), float32], %beta: Tensor[(5), float32],
          %mean: Tensor[(5), float32], %var: Tensor[(5), float32], %v: Tensor[(3, 5), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=5, kernel_size=[3, 3]);
  %1 = nn.batch_norm(%0, %gamma, %beta, %mean, %var);
  %2 = nn.relu(%1.0);
  %3 = nn.max_pool2d(%2, pool_size=[2, 2], strides=[2, 2], padding=[0, 0, 0, 0]);
  %4 = mean(%3, axis=[2, 3]);
  nn.dense(%4, %v, units=3)
}
"""

DROPPING = """#[version = "0.0.5"]
def @main(%x: Tensor[(8, 50), float32], %w: Tensor[(3, 50), float32]) {
  %0 = nn.dropout(%x, rate=0.25f);
  nn.dense(%0.0, %w, units=3)
}
"""


PLACES = """#[version = "0.0.5"]
def @main(%x: Tensor[(4, 6, 5), float32], %w: Tensor[(5), float32], %v: Tensor[(3), float32]) {
  %0 = multiply(%x, %w);
  %1 = take(%0, 4, axis=1);
  %2 = take(%0, -6, axis=1);
  %3 = strided_slice(add(%1, %2), begin=[1], end=[4], strides=[1], axes=[1]);
  %4 = strided_slice(%1, begin=[4], end=[0], strides=[-2], axes=[1]);
  concatenate((multiply(%3, %v), %4), axis=1)
}
"""

WORDS = """#[version = "0.0.5"]
def @main(%x: Tensor[(4, 3), int64], %w: Tensor[(6, 5), float32]) { sum(take(%w, %x, axis=0), axis=[1]) }
"""

BOUNDED = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 4), float32], %w: Tensor[(4), float32]) { clip(multiply(%x, %w), a_min=0f, a_max=6f) }
"""


def network(text: str, *inputs: str, seed: int = 0) -> tuple[Module, dict[str, Any], list[Any]]:
    """The module, random weights, and random values of `inputs`, `x` if there are none."""
    module = irtool.parse(text)
    g = np.random.default_rng(seed)
    values = {}
    for p in module["main"].params:
        assert isinstance(p.type_annotation, TensorType)
        values[p.name] = g.standard_normal(p.type_annotation.static_shape).astype(p.type_annotation.dtype)
    if "var" in values:
        values["var"] = np.abs(values["var"]) + 0.5
    names = inputs or ("x",)
    return module, {n: a for n, a in values.items() if n not in names}, [values[n] for n in names]
