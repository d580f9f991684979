"""Biases of scores that fall with the distance of a key, in place of positions in embeddings or angles."""

from __future__ import annotations

from ...deferred import np
from ..onnx.arithmetic import cast, multiply, subtract
from ..onnx.length_values import numbers_below
from ..onnx.value import Value


def slopes(heads: int, greatest: float) -> np.ndarray:
    """The slope of each head, float32 (ALiBi: Press and others, 2022).

    With a power of two, slopes are `2 ** (-greatest * (h + 1) / heads)`; further heads have those between the slopes of twice as many heads, every
    other one from the first on.
    """
    power = 1 << (heads.bit_length() - 1)
    exponents = [(h + 1) / power for h in range(power)] + [(2 * h + 1) / (2 * power) for h in range(heads - power)]
    return np.exp2(-greatest * np.array(exponents)).astype(np.float32)


def distance_biases(places: Value, keys: int, heads: int, greatest: float) -> Value:
    """Biases of the scores of each head, `(N, heads, length, keys)`: its slope times the negative distance of a key before a query.

    `places` is `(N, length)`, the number of tokens before each query.
    """
    steps = numbers_below(keys, "the places of keys", "int32").call("reshape", newshape=[1, 1, 1, -1])
    rows = places.call("expand_dims", axis=1).call("expand_dims", axis=3)
    distances = cast(subtract(steps, rows), "float32")
    return multiply(distances, Value.constant(slopes(heads, greatest).reshape(1, -1, 1, 1)))
