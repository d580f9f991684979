"""Encoders as BERT has them (Devlin et al., 2018) and decoders as GPT-2 has them (Radford et al., 2019), as Relay text.

`python -m benchmarks.networks.transformer [bert|gpt2] > bert.relay`
"""

from __future__ import annotations

import math
import sys

from .builder import Text


class _Layers:
    """The layers of one network: `tokens` rows of `width` numbers, attention with `heads` heads."""

    def __init__(self, tokens: int, width: int, heads: int) -> None:
        self.t = Text()
        self.tokens, self.width, self.heads = tokens, width, heads

    def reshape(self, x: str, *shape: int) -> str:
        return self.t.call("reshape", x, newshape=list(shape))

    def dense(self, x: str, name: str, units: int, width: int) -> str:
        t = self.t
        y = t.call("nn.dense", x, t.param(f"{name}_weight", units, width), units=units)
        return t.call("add", y, t.param(f"{name}_bias", units))

    def norm(self, x: str, name: str) -> str:
        t = self.t
        return t.call("nn.layer_norm", x, t.param(f"{name}_gamma", self.width), t.param(f"{name}_beta", self.width))

    def gelu(self, x: str) -> str:
        """x · (1 + erf(x / √2)) / 2."""
        t = self.t
        y = t.call("erf", t.call("multiply", x, f"{math.sqrt(0.5)!r}f"))
        return t.call("multiply", t.call("multiply", x, "0.5f"), t.call("add", y, "1f"))

    def attention(self, x: str, name: str, mask: str = "") -> str:
        t, head = self.t, self.width // self.heads
        parts = []
        for part, axes in (("query", (1, 0, 2)), ("key", (1, 0, 2)), ("value", (1, 2, 0))):
            y = self.reshape(self.dense(x, f"{name}_{part}", self.width, self.width), self.tokens, self.heads, head)
            parts.append(t.call("transpose", y, axes=list(axes)))
        query, key, value = parts
        score = t.call("multiply", t.call("nn.batch_matmul", query, key, transpose_b=True), f"{head**-0.5!r}f")
        score = t.call("add", score, mask) if mask else score
        y = t.call("nn.batch_matmul", t.call("nn.softmax", score), value, transpose_b=True)
        y = self.reshape(t.call("transpose", y, axes=[1, 0, 2]), self.tokens, self.width)
        return self.dense(y, f"{name}_out", self.width, self.width)

    def feed_forward(self, x: str, name: str) -> str:
        y = self.gelu(self.dense(x, f"{name}_up", 4 * self.width, self.width))
        return self.dense(y, f"{name}_down", self.width, 4 * self.width)

    def embed(self, vocabulary: int) -> str:
        t = self.t
        ids = t.param("input_ids", self.tokens, dtype="int64")
        table = t.param("embedding", vocabulary, self.width)
        return t.call("add", t.call("take", table, ids, axis=0), t.param("positions", self.tokens, self.width))


def bert(tokens: int = 128, width: int = 768, heads: int = 12, depth: int = 12, vocabulary: int = 30522) -> str:
    """The encoder: token numbers of shape (tokens,) in, states of shape (tokens, width) out."""
    n = _Layers(tokens, width, heads)
    x = n.norm(n.embed(vocabulary), "norm0")
    for i in range(depth):
        x = n.norm(n.t.call("add", x, n.attention(x, f"layer{i}")), f"layer{i}_norm1")
        x = n.norm(n.t.call("add", x, n.feed_forward(x, f"layer{i}")), f"layer{i}_norm2")
    return n.t.text(x)


def gpt2(tokens: int = 64, width: int = 768, heads: int = 12, depth: int = 12, vocabulary: int = 50257) -> str:
    """The decoder: token numbers of shape (tokens,) in, scores of shape (tokens, vocabulary) out.

    `%mask` of shape (1, tokens, tokens) is added to the attention scores: 0 where a token may look, -inf elsewhere.
    """
    n = _Layers(tokens, width, heads)
    x = n.embed(vocabulary)
    mask = n.t.param("mask", 1, tokens, tokens)
    for i in range(depth):
        x = n.t.call("add", x, n.attention(n.norm(x, f"layer{i}_norm1"), f"layer{i}", mask))
        x = n.t.call("add", x, n.feed_forward(n.norm(x, f"layer{i}_norm2"), f"layer{i}"))
    return n.t.text(n.t.call("nn.dense", n.norm(x, "norm"), "%embedding", units=vocabulary))


if __name__ == "__main__":
    sys.stdout.write({"bert": bert, "gpt2": gpt2}[sys.argv[1] if len(sys.argv) > 1 else "bert"]())
