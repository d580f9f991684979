"""One operator of the benchmark: its call in Relay, the same of torch, and the values of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import irtool
from irtool.ir import Module
from irtool.ops.threefry import first_state

SEED = 0

Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


@dataclass(frozen=True)
class Values:
    """The values of an argument: its dtype, and an array of a shape from a generator of random numbers."""

    dtype: str
    draw: Draw


NORMAL = Values("float32", lambda rng, shape: rng.standard_normal(shape).astype("float32"))
POSITIVE = Values("float32", lambda rng, shape: rng.uniform(0.5, 1.5, shape).astype("float32"))
"""Values around 1, such as variances and probabilities have."""
ROUNDED = Values("float32", lambda rng, shape: rng.integers(-8, 8, shape).astype("float32"))
"""Small whole numbers: many of them are equal."""
GENERATOR = Values("uint64", lambda rng, shape: first_state(SEED))
"""The state of a generator of random numbers."""


def between(low: int, high: int, dtype: str = "int64") -> Values:
    """Uniformly distributed whole numbers from `low` to below `high`."""
    return Values(dtype, lambda rng, shape: rng.integers(low, high, shape).astype(dtype))


def below(count: int, dtype: str = "int64") -> Values:
    """Indices of `count` places."""
    return between(0, count, dtype)


BYTES = between(-128, 128, "int8")


def ends_of_rows(per_row: int) -> Values:
    """Where the rows of a sparse matrix end that have `per_row` elements each."""
    return Values("int32", lambda rng, shape: (np.arange(*shape) * per_row).astype("int32"))


def columns_of_rows(per_row: int, count: int) -> Values:
    """The columns, of `count`, of `per_row` elements in each row of a sparse matrix: ascending and different."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        rows = [np.sort(rng.choice(count, per_row, replace=False)) for _ in range(shape[0] // per_row)]
        return np.concatenate(rows).astype("int32")

    return Values("int32", draw)


def places(*extents: int) -> Values:
    """Different places in a tensor of these extents, one row each."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        flat = rng.choice(int(np.prod(extents)), shape[0], replace=False)
        return np.stack(np.unravel_index(flat, extents), axis=1).astype("int64")

    return Values("int64", draw)


@dataclass(frozen=True)
class Single:
    """One operator.

    Attributes:
        shapes: of its arguments, named %a, %b, … in `body`.
        torch: the same from torch, its `nn.functional` and tensors; None if torch has no such operator.
        view: whether numpy returns a view, which takes no time.
        gradient: the gradients by all arguments that hold floats are computed too.
        values: of arguments, by name; others are normally distributed floats.
        tolerance: the largest difference from torch, relative to the largest element, that is no error.
        random: the results are random numbers, and only their distributions are compared.
    """

    name: str
    shapes: tuple[tuple[int, ...], ...]
    body: str
    torch: Callable[..., Any] | None = None
    view: bool = False
    gradient: bool = False
    values: Mapping[str, Values] = field(default_factory=dict)
    tolerance: float = 1e-3
    random: bool = False

    def module(self) -> Module:
        """The module, typed."""
        head = ", ".join(f"%{name}: {_type(v.dtype, shape)}" for name, v, shape in self._arguments())
        module = irtool.infer_types(irtool.parse(f'#[version = "0.0.5"]\ndef @main({head}) {{ {self.body} }}\n'))
        return irtool.infer_types(irtool.run_passes(module, "FirstOrderGradient")) if self.gradient else module

    def inputs(self) -> list[np.ndarray]:
        """Seeded arguments."""
        rng = np.random.default_rng(SEED)
        return [values.draw(rng, shape) for _, values, shape in self._arguments()]

    def _arguments(self) -> list[tuple[str, Values, tuple[int, ...]]]:
        return [(name, self.values.get(name, NORMAL), shape) for name, shape in zip("abcdef", self.shapes)]


def _type(dtype: str, shape: tuple[int, ...]) -> str:
    return f"Tensor[({', '.join(map(str, shape))}{',' * (len(shape) == 1)}), {dtype}]" if shape else dtype
