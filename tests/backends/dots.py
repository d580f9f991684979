"""Sums of products of bytes: programs, numbers and the loop that defines them."""

from __future__ import annotations

import numpy as np

import irtool
from irtool.schedule.core.affine import loads as reads_of
from irtool.tir.forms import Reduction, nest_of
from irtool.tir.stmt import PrimFunc
from tests.nests import run_nest

V = '#[version = "0.0.5"]\n'


def numbers(dtype: str, count: int, seed: int) -> np.ndarray:
    """Every third number is an extreme one."""
    limits = np.iinfo(dtype)
    g = np.random.default_rng(seed)
    drawn = g.integers(limits.min, limits.max + 1, count).astype(dtype)
    return np.where(g.random(count) < 1 / 3, g.choice([limits.min, limits.max], count), drawn).astype(dtype)


def narrowed(y: np.ndarray) -> np.ndarray:
    """Numbers with neighbours of the same sign that add up to 128 at most: there are pairs of just so much."""
    pairs = y.astype("int64").reshape(*y.shape[:-1], -1, 2)
    same = (pairs[..., 0] < 0) == (pairs[..., 1] < 0)
    rest = np.sign(pairs[..., 1]) * (128 - np.abs(pairs[..., 0]))
    pairs[..., 1] = np.where(same & (np.abs(pairs.sum(-1)) > 128), rest, pairs[..., 1])
    return pairs.reshape(y.shape).astype("int8")


def by_the_loop(form: Reduction, start: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    (store,) = form.stores
    products = sorted({e.source for e in reads_of(form.update)} - {form.acc}, key=lambda b: b.name)
    nest = PrimFunc("dot", [*products, store.buffer], nest_of(form))
    sums = [int(run_nest(nest, [x, y])[0]) for x, y in zip(a, b, strict=True)]
    return (start.astype("int64") + sums).astype("int32")


CASES = {
    "padded": ("nn.conv2d(%x, %w, padding=[1, 1], out_dtype=\"int32\")", (1, 32, 7, 9), (24, 32, 3, 3)),
    "strided, odd channels": ("nn.conv2d(%x, %w, strides=[2, 2], out_dtype=\"int32\")", (2, 13, 9, 8), (19, 13, 3, 3)),
    "an image": ("nn.conv2d(%x, %w, padding=[3, 3], strides=[2, 2], out_dtype=\"int32\")", (1, 3, 16, 16), (16, 3, 7, 7)),
    "1 x 1": ("nn.conv2d(%x, %w, out_dtype=\"int32\")", (1, 64, 5, 5), (48, 64, 1, 1)),
    "groups": ("nn.conv2d(%x, %w, groups=2, padding=[1, 1], out_dtype=\"int32\")", (1, 32, 6, 6), (32, 16, 3, 3)),
    "narrow groups": ("nn.conv2d(%x, %w, groups=8, padding=[1, 1], out_dtype=\"int32\")", (1, 32, 6, 6), (32, 4, 3, 3)),
    "groups of twelve": ("nn.conv2d(%x, %w, groups=3, padding=[1, 1], out_dtype=\"int32\")", (1, 36, 6, 6), (24, 12, 3, 3)),
    "phases": ("nn.conv2d_transpose(%x, %w, kernel_size=[2, 2], strides=[2, 2], kernel_layout=\"IOHW\", out_dtype=\"int32\")", (1, 32, 7, 9), (32, 24, 2, 2)),
    "padded phases": ("nn.conv2d_transpose(%x, %w, kernel_size=[4, 4], strides=[2, 2], padding=[1, 1], kernel_layout=\"IOHW\", out_dtype=\"int32\")", (1, 32, 7, 9), (32, 24, 4, 4)),
    "depthwise": ("nn.conv2d(%x, %w, groups=32, padding=[1, 1], out_dtype=\"int32\")", (1, 32, 6, 6), (32, 1, 3, 3)),
    "dense": ("nn.dense(%x, %w, units=None, out_dtype=\"int32\")", (9, 67), (40, 67)),
    "one row": ("nn.dense(%x, %w, units=None, out_dtype=\"int32\")", (1, 512), (48, 512)),
    "matrices": ("nn.batch_matmul(%x, %w, transpose_b=True, out_dtype=\"int32\")", (2, 16, 50), (2, 24, 50)),
    "two layers": (
        "nn.conv2d(clip(cast(right_shift(nn.conv2d(%x, %w, out_dtype=\"int32\"), 6), dtype=\"uint8\"), a_min=0f, a_max=255f), %w, out_dtype=\"int32\")",
        (1, 32, 5, 7),
        (32, 32, 1, 1),
    ),
}  # fmt: skip


def program(case: str, a: str, b: str) -> tuple[irtool.Module, np.ndarray, np.ndarray]:
    call, data, weights = CASES[case]
    text = f"{V}def @main(%x: Tensor[{data}, {a}], %w: Tensor[{weights}, {b}]) {{ {call} }}"
    x, w = (numbers(d, int(np.prod(s)), 3).reshape(s) for d, s in ((a, data), (b, weights)))
    return irtool.parse(text), x, w
