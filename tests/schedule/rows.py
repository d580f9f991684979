"""Calls of one operator, and numbers that compare in unusual ways."""

from __future__ import annotations

import numpy as np

import irtool

HOSTILE = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0)


def hostile(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    """Many ties; among floats zeros of both signs, infinities, and NaN in some rows."""
    generator = np.random.default_rng(seed)
    x = generator.integers(-4, 4, shape).astype(dtype)
    if dtype.startswith("float"):
        corners = HOSTILE[1 - seed % 2 :]
        x = np.where(generator.random(shape) < 0.1, generator.choice(corners, shape), x).astype(dtype)
    return x


def module_of(call: str, shape: tuple[int, ...], dtype: str) -> irtool.Module:
    size = ", ".join(map(str, shape))
    return irtool.infer_types(
        irtool.parse(f'#[version = "0.0.5"]\ndef @main(%x: Tensor[({size}), {dtype}]) {{ {call} }}')
    )
