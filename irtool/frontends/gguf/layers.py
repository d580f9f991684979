"""The parts of a layer: attention over a cache of keys and values, and the feed-forward part."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, pairwise

from ..onnx.arithmetic import add, multiply
from ..onnx.dot_product import attention, hidden_keys, join_heads, split_heads
from ..onnx.normalize import layer_norm, rms_norm
from ..onnx.operators.microsoft.rotary import rotated
from ..onnx.tuples import concatenate
from ..onnx.value import Value
from .alibi import distance_biases
from .metadata import Configuration
from .weights import Weights


@dataclass(frozen=True)
class Positions:
    """The positions of the tokens of a step.

    Attributes:
        places: the number of tokens before each of them, `(1, tokens)`.
        angles: the rows of the tables of cosines and sines at these positions, `(1, 1, tokens, half)`, by layer; empty without angles.
    """

    places: Value
    angles: Callable[[int], tuple[Value, Value] | None]


@dataclass(frozen=True)
class Layer:
    """Layer `number` of a network, with its weights. The last one has a single row as its result: that of the last token."""

    c: Configuration
    weights: Weights
    number: int

    @property
    def is_last(self) -> bool:
        """True for the layer before the head."""
        return self.number == self.c.layers - 1

    def name(self, part: str) -> str:
        """The name of a tensor of the layer."""
        return f"blk.{self.number}.{part}"

    def apply(self, x: Value, cache: tuple[Value, Value] | None, positions: Positions) -> tuple[Value, Value, Value]:
        """The result `(tokens, width)`, and the caches with the keys and values of this step behind those before. Without caches, each
        token has a result in the last layer as well."""
        normalized = self.norm("attn_norm", x)
        attended, keys, values = self._attention(normalized, cache, positions)
        if cache is not None and self.is_last:
            x, normalized, attended = (_last_row(y) for y in (x, normalized, attended))
        attended = self.dense("attn_output", attended, self.c.width)
        if self.c.architecture.is_parallel:
            return self._sum(x, add(attended, self._feed_forward(normalized))), keys, values
        x = self._sum(x, self._norm_behind("post_attention_norm", attended))
        fed = self._feed_forward(self.norm("ffn_norm", x))
        return self._sum(x, self._norm_behind("post_ffw_norm", fed)), keys, values

    def norm(self, part: str, x: Value) -> Value:
        """The normalization of that name."""
        return norm(self.c, self.weights, self.name(part), x)

    def _norm_behind(self, part: str, x: Value) -> Value:
        """The same behind a part of the layer, of architectures that have it."""
        return self.norm(part, x) if f"{self.name(part)}.weight" in self.weights else x

    def _sum(self, x: Value, y: Value) -> Value:
        return add(x, y if self.c.residual_scale == 1 else multiply(y, self.c.residual_scale))

    def dense(self, part: str, x: Value, units: int) -> Value:
        """The product `(tokens, units)` with a weight, and its bias if there is one."""
        y = x.call("nn.dense", self.weights.tensor(f"{self.name(part)}.weight", units, x.extent(1, part)), units=units)
        bias = self.weights.optional(f"{self.name(part)}.bias", units)
        return y if bias is None else y.call("nn.bias_add", bias)

    def _attention(
        self, x: Value, cache: tuple[Value, Value] | None, positions: Positions
    ) -> tuple[Value, Value, Value]:
        c = self.c
        q, k, v = self._projections(x)
        q, k = (self._head_norm(f"attn_{n}_norm", y) for n, y in (("q", q), ("k", k)))
        angles = positions.angles(self.number)
        if angles is not None:
            interleaved = c.architecture.rotary == "neighbours"
            q, k = (rotated(y, *angles, c.rotary_size, interleaved, c.key_size) for y in (q, k))
        keys, values = k, v
        if cache is not None:
            keys, values = (concatenate([before, new], 2) for before, new in zip(cache, (k, v), strict=True))
        window = c.window - 1 if c.is_local(self.number) else None
        hidden = hidden_keys(positions.places, keys.extent(2, "the keys"), window, 0, "float32")
        if c.alibi:
            extent = keys.extent(2, "the keys")
            hidden = add(hidden, distance_biases(positions.places, extent, c.heads, c.alibi))
        attended = attention(q, keys, values, hidden, c.score_scale, c.score_cap)
        return join_heads(attended).call("squeeze", axis=[0]), keys, values

    def _projections(self, x: Value) -> tuple[Value, Value, Value]:
        """Queries, keys and values in heads, `(1, heads, tokens, size)`, from one weight or from three."""
        c = self.c
        heads, sizes = (c.heads, c.groups, c.groups), (c.key_size, c.key_size, c.value_size)
        widths = [n * s for n, s in zip(heads, sizes, strict=True)]
        if f"{self.name('attn_qkv')}.weight" in self.weights:
            parts = parts_of(self.dense("attn_qkv", x, sum(widths)), widths)
        else:
            parts = [self.dense(f"attn_{n}", x, w) for n, w in zip("qkv", widths, strict=True)]
        q, k, v = (split_heads(y.call("expand_dims", axis=0), n) for y, n in zip(parts, heads, strict=True))
        return q, k, v

    def _head_norm(self, part: str, y: Value) -> Value:
        weight = self.weights.optional(f"{self.name(part)}.weight", self.c.key_size)
        return y if weight is None else rms_norm(y, weight, -1, self.c.epsilon, "float32")

    def _feed_forward(self, x: Value) -> Value:
        c = self.c
        activation = ACTIVATIONS[c.architecture.activation]
        if f"{self.name('ffn_gate')}.weight" in self.weights:
            gate, up = self.dense("ffn_gate", x, c.inner), self.dense("ffn_up", x, c.inner)
            inner = multiply(activation(gate), up)
        elif self._is_gated():
            gate, up = parts_of(self.dense("ffn_up", x, 2 * c.inner), [c.inner, c.inner])
            inner = multiply(activation(gate), up)
        else:
            inner = activation(self.dense("ffn_up", x, c.inner))
        return self.dense("ffn_down", inner, c.width)

    def _is_gated(self) -> bool:
        """True if one weight has the rows of the gate, and those of the other factor behind them."""
        weight = self.weights.tensors.get(f"{self.name('ffn_up')}.weight")
        return weight is not None and tuple(weight.shape) == (2 * self.c.inner, self.c.width)


def norm(c: Configuration, weights: Weights, name: str, x: Value) -> Value:
    """The normalization of rows with the weight of that name."""
    weight = weights.tensor(f"{name}.weight", c.width)
    if c.architecture.norm == "layer":
        return layer_norm(x, weight, weights.optional(f"{name}.bias", c.width), -1, c.epsilon)
    return rms_norm(x, weight, -1, c.epsilon, "float32")


def _last_row(x: Value) -> Value:
    return x.call("strided_slice", begin=[-1], end=[2**31 - 1], strides=[1], axes=[0])


def parts_of(x: Value, widths: list[int]) -> list[Value]:
    """Columns of a matrix, so many each."""
    bounds = accumulate(widths, initial=0)
    return [x.call("strided_slice", begin=[b], end=[e], strides=[1], axes=[1]) for b, e in pairwise(bounds)]


def _silu(x: Value) -> Value:
    return multiply(x, x.call("sigmoid"))


def _gelu_tanh(x: Value) -> Value:
    cube = multiply(multiply(multiply(x, x), x), 0.044715)
    gate = multiply(add(x, cube), math.sqrt(2 / math.pi)).call("tanh")
    return multiply(multiply(x, 0.5), add(gate, 1))


def _gelu(x: Value) -> Value:
    gate = add(multiply(x, math.sqrt(0.5)).call("erf"), 1)
    return multiply(multiply(x, 0.5), gate)


ACTIVATIONS: dict[str, Callable[[Value], Value]] = {"silu": _silu, "gelu": _gelu, "gelu_tanh": _gelu_tanh}
"""Activations by the names that architectures have for them."""
