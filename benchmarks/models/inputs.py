"""Random inputs of a model, as ONNX Runtime describes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Draw = Callable[[np.random.Generator, tuple[int, ...], np.dtype], np.ndarray]

_DTYPES = {"float": "float32", "double": "float64", "float16": "float16", "bool": "bool"}


def dtype_of(declared: str) -> np.dtype:
    """The dtype of ONNX Runtime's `tensor(float)` and its like."""
    name = declared.removeprefix("tensor(").removesuffix(")")
    return np.dtype(_DTYPES.get(name, name))


def below(high: int) -> Draw:
    """Whole numbers from 0 to `high` - 1."""
    return lambda rng, shape, dtype: rng.integers(0, high, shape).astype(dtype)


def filled(value: Any) -> Draw:
    return lambda rng, shape, dtype: np.full(shape, value, dtype)


def scaled(low: float, high: float) -> Draw:
    """Evenly distributed between `low` and `high`."""
    return lambda rng, shape, dtype: rng.uniform(low, high, shape).astype(dtype)


ones: Draw = filled(1)


def normal(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Normally distributed numbers; of whole numbers 0 and 1, of truth values both."""
    if dtype.kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    return rng.integers(0, 2, shape).astype(dtype)


def shape_of(name: str, declared: list[Any], row: Any) -> tuple[int, ...]:
    """The shape of an input: of the row, or the declared one with the row's extents, and 1 for an open first extent.

    Raises:
        ValueError: an extent is open and the row does not give it.
    """
    if name in row.shapes:
        return row.shapes[name]
    shape = []
    for axis, extent in enumerate(declared):
        if isinstance(extent, int) and extent > 0:
            shape.append(extent)
        elif extent in row.dims:
            shape.append(row.dims[extent])
        elif axis == 0:
            shape.append(1)
        else:
            raise ValueError(f"the row gives no extent {extent!r} of {name}")
    return tuple(shape)


def inputs_of(session: Any, row: Any, seed: int) -> dict[str, np.ndarray]:
    """Inputs of an `onnxruntime.InferenceSession`, by name."""
    rng = np.random.default_rng(seed)
    return {
        i.name: row.draw.get(i.name, normal)(rng, shape_of(i.name, i.shape, row), dtype_of(i.type))
        for i in session.get_inputs()
    }
