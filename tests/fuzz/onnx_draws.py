"""What the rows of ONNX operators draw with: extents, tensors, attributes, and nodes that take what they draw."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

DTYPES = {
    "tensor(float)": "float32",
    "tensor(double)": "float64",
    "tensor(float16)": "float16",
    "tensor(int8)": "int8",
    "tensor(uint8)": "uint8",
    "tensor(int16)": "int16",
    "tensor(uint16)": "uint16",
    "tensor(int32)": "int32",
    "tensor(uint32)": "uint32",
    "tensor(int64)": "int64",
    "tensor(uint64)": "uint64",
    "tensor(bool)": "bool",
}


@dataclass(eq=False)
class Known:
    """An operand that is part of the model."""

    value: np.ndarray


@dataclass
class Node:
    """A node with its operands: arrays that are inputs of the model, known ones, or None where an operand is left out.

    Attributes:
        outputs: how many results it has.
        near: relative and absolute difference that rounding may make.
    """

    operator: str
    opset: int
    operands: Sequence[np.ndarray | Known | None]
    attributes: dict[str, Any] = field(default_factory=dict)
    outputs: int = 1
    near: float = 1e-4


class Draw:
    """Random numbers for a node of one version of the operators."""

    def __init__(self, seed: int | str, opset: int) -> None:
        self.rng = random.Random(seed)
        self.numbers = np.random.default_rng(self.rng.randrange(1 << 32))
        self.opset = opset
        self.empty = self.rng.random() < 0.06
        self.special = self.rng.random() < 0.15

    def n(self, low: int, high: int) -> int:
        """A whole number of `low … high`."""
        return self.rng.randint(low, high)

    def pick(self, *options: Any) -> Any:
        """One of the options."""
        return self.rng.choice(options)

    def chance(self, p: float) -> bool:
        """True in `p` of all cases."""
        return self.rng.random() < p

    def extent(self, most: int = 6) -> int:
        """An extent, now and then none."""
        return 0 if self.empty and self.chance(0.3) else self.n(1, most)

    def shape(self, low: int, high: int, most: int = 6) -> list[int]:
        """A shape of so many axes."""
        return [self.extent(most) for _ in range(self.n(low, high))]

    def like(self, shape: Sequence[int]) -> list[int]:
        """A shape that broadcasts to this one."""
        lead = self.n(0, len(shape)) if self.chance(0.3) else 0
        return [1 if self.chance(0.25) else d for d in shape[lead:]]

    def array(self, shape: Sequence[int], dtype: str = "float32", low: int = -8, high: int = 8) -> np.ndarray:
        """Numbers: of floats halves and quarters, now and then NaN and infinity; of integers those of `low … high`."""
        if dtype == "bool":
            return self.numbers.integers(0, 2, shape).astype(bool)
        if dtype.startswith("uint"):
            low = max(low, 0)
        values = self.numbers.integers(low, high, shape, endpoint=True)
        if not dtype.startswith("float"):
            return values.astype(dtype)
        if self.chance(0.5):
            floats = values / 4
        else:
            floats = self.numbers.standard_normal(shape) * 2
        if self.special and floats.size:
            floats = np.asarray(floats)
            for value in self.rng.sample((np.nan, np.inf, -np.inf, -0.0, 0.0), self.n(1, 2)):
                floats.reshape(-1)[self.numbers.integers(0, floats.size)] = value
        return np.asarray(floats).astype(dtype)

    def real(self) -> str:
        """A type of floats."""
        return str(self.pick("float32", "float32", "float32", "float64", "float16"))

    def dtype(self) -> str:
        """A type of numbers."""
        return str(self.pick(*["float32"] * 4, "float64", "float16", "int64", "int64", "int32", "int8", "uint8"))

    def axis(self, rank: int, negative: bool | None = None) -> int:
        """An axis, counted from the front or from the back."""
        positive_axis = self.n(0, max(rank - 1, 0))
        back = self.chance(0.4) if negative is None else negative
        return positive_axis - rank if back and rank else positive_axis

    def axes(self, rank: int, least: int = 0) -> list[int]:
        """Several axes, in any order."""
        chosen = self.rng.sample(range(rank), self.n(min(least, rank), rank))
        return [a - rank if self.chance(0.3) and self.opset >= 11 else a for a in chosen]

    def some(self, **attributes: Any) -> dict[str, Any]:
        """Some of these attributes; others keep their defaults."""
        return {k: v for k, v in attributes.items() if v is not None and self.chance(0.7)}

    def floats(self, *numbers: float) -> float:
        """A number of these, or another one."""
        return float(self.pick(*numbers, -1.5, 0.3, 1.0, 2.0))


def known(values: Any, dtype: str = "int64") -> Known:
    """An operand that is part of the model."""
    return Known(np.asarray(values, dtype))
