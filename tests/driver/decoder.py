"""A small decoder of text with caches of keys and values that grow by concatenation, as exporters write it."""

from __future__ import annotations

from typing import Any

import numpy as np

import irtool
from irtool.ir import Module

LAYERS, HEADS, SIZE, WORDS, HIDDEN = 2, 2, 8, 16, 32
WIDTH = HEADS * SIZE

_LAYER = """
  q{n} = MatMul({x}, wq{n})
  k{n} = MatMul({x}, wk{n})
  v{n} = MatMul({x}, wv{n})
  qs{n} = Reshape(q{n}, heads)
  ks{n} = Reshape(k{n}, heads)
  vs{n} = Reshape(v{n}, heads)
  qh{n} = Transpose<perm = [0, 2, 1, 3]>(qs{n})
  kh{n} = Transpose<perm = [0, 2, 1, 3]>(ks{n})
  vh{n} = Transpose<perm = [0, 2, 1, 3]>(vs{n})
  present_{n}_key = Concat<axis = 2>(past_key_values_{n}_key, kh{n})
  present_{n}_value = Concat<axis = 2>(past_key_values_{n}_value, vh{n})
  kt{n} = Transpose<perm = [0, 1, 3, 2]>(present_{n}_key)
  s{n} = MatMul(qh{n}, kt{n})
  scaled{n} = Mul(s{n}, scale)
  masked{n} = Add(scaled{n}, mask)
  p{n} = Softmax<axis = -1>(masked{n})
  o{n} = MatMul(p{n}, vh_all{n})
  ot{n} = Transpose<perm = [0, 2, 1, 3]>(o{n})
  oc{n} = Reshape(ot{n}, joined)
  a{n} = MatMul(oc{n}, wo{n})
  r{n} = Add({x}, a{n})
  h{n} = MatMul(r{n}, w1{n})
  g{n} = Relu(h{n})
  f{n} = MatMul(g{n}, w2{n})
  x{m} = Add(r{n}, f{n})
"""


def text(batch: str = "1", step: str = "n", layers: int = LAYERS) -> str:
    """The model in ONNX's text: `batch` and `step` are extents, numbers or names."""
    caches = [f"past_key_values_{n}_{part}" for n in range(layers) for part in ("key", "value")]
    weights = [f"{w}{n}" for n in range(layers) for w in ("wq", "wk", "wv", "wo", "w1", "w2")]
    inputs = [f"int64[{batch}, {step}] words", f"float[{batch}, 1, {step}, total] mask"]
    inputs += [f"float[{batch}, {HEADS}, past, {SIZE}] {c}" for c in caches]
    inputs += [f"float[{', '.join(map(str, s))}] {w}" for w, s in shapes(layers).items()]
    outputs = [f"float[{batch}, {step}, {WORDS}] scores"]
    outputs += [f"float[{batch}, {HEADS}, total, {SIZE}] {c.replace('past_key_values', 'present')}" for c in caches]
    body = "".join(
        _LAYER.format(n=n, m=n + 1, x=f"x{n}").replace(f"vh_all{n}", f"present_{n}_value") for n in range(layers)
    )
    assert set(weights) <= set(shapes(layers))
    return (
        f'<ir_version: 10, opset_import: ["" : 21]>\ndecoder ({", ".join(inputs)}) => ({", ".join(outputs)})\n'
        f"<int64[4] heads = {{0, 0, {HEADS}, {SIZE}}}, int64[3] joined = {{0, 0, {WIDTH}}}, "
        f"float scale = {{{SIZE**-0.5}}}>\n"
        f"{{\n  x0 = Gather(table, words)\n{body}  scores = MatMul(x{layers}, out)\n}}\n"
    )


def shapes(layers: int = LAYERS) -> dict[str, tuple[int, ...]]:
    """The shapes of the weights."""
    named: dict[str, tuple[int, ...]] = {"table": (WORDS, WIDTH), "out": (WIDTH, WORDS)}
    for n in range(layers):
        named |= {f"{w}{n}": (WIDTH, WIDTH) for w in ("wq", "wk", "wv", "wo")}
        named |= {f"w1{n}": (WIDTH, HIDDEN), f"w2{n}": (HIDDEN, WIDTH)}
    return named


def weights(layers: int = LAYERS) -> dict[str, np.ndarray]:
    """Random weights."""
    g = np.random.RandomState(3)
    return {n: (g.randn(*s) / np.sqrt(s[0])).astype("float32") for n, s in shapes(layers).items()}


def module(batch: str = "1", step: str = "n", layers: int = LAYERS) -> Module:
    """The module of the model, its weights being parameters."""
    return irtool.from_onnx(text(batch, step, layers).encode())[0]


def inputs(number: int, past: int, step: int = 1, batch: int = 1) -> dict[str, np.ndarray]:
    """Words of a step, and the mask by which each sees itself and those before."""
    g = np.random.RandomState(number)
    words = g.randint(0, WORDS, (batch, step)).astype("int64")
    sees = np.arange(past + step)[None] <= past + np.arange(step)[:, None]
    mask = np.where(sees, 0, -1e9).astype("float32")
    return {"words": words, "mask": np.ascontiguousarray(np.broadcast_to(mask, (batch, 1, step, past + step)))}


def caches(batch: int = 1, layers: int = LAYERS) -> dict[str, np.ndarray]:
    """Caches without rows."""
    names = [f"past_key_values_{n}_{part}" for n in range(layers) for part in ("key", "value")]
    return {n: np.zeros((batch, HEADS, 0, SIZE), "float32") for n in names}


def stateless_step(artifact: Any, values: dict[str, np.ndarray], states: dict[str, np.ndarray]) -> np.ndarray:
    """The scores of the build without states; `states` get their next values."""
    scores, *after = artifact.run({**values, **states})
    states.update(zip(states, after, strict=True))
    return scores  # type: ignore[no-any-return]  # an array
