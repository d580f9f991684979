"""The elements of constants as numbers that can be computed with."""

from __future__ import annotations

from typing import Any


def numbers(data: Any, dtype: str) -> Any:
    """The elements of an array that holds numbers of a dtype: bfloat16 as float32, of which each is the first half of the bits."""
    import numpy as np

    array = np.asarray(data)
    if dtype != "bfloat16":
        return array
    return (array.view("uint16").astype("uint32") << np.uint32(16)).view("float32").reshape(array.shape)
