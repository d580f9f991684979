"""`sliding_window`: what neighbouring rows of a tile both read is read once."""

from __future__ import annotations

from dataclasses import replace

from ..block import Block
from ..forms import Form
from ..sliding import Sliding
from .base import primitive


@primitive
def sliding_window(b: Block[Form], window: Sliding) -> Block[Form]:
    """The updates of a tile in the order of the elements that they read, each of which is read once, into a register.

    ::

        for t, k: acc[t] += x[t + k] * w[k]    ⇒    for each y: near = x[y]; for k: acc[y - k] += near * w[k]

    As Halide's sliding windows, within a tile of registers.
    """
    return replace(b, window=window)
