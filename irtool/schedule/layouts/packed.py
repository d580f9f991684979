"""Constants in another order, packed when the program is built."""

from __future__ import annotations

import math
from typing import Any

from ...array_blocks import blocks
from ...tir.equal_data import BEGINNING
from ...tir.program import CONSTANT, Derivation, Slot
from ...tir.stmt import Layout


def packed_name(slot: Slot, packed: dict[tuple[Slot, Layout], Slot]) -> str:
    """The name of a packed weight, with a number if it is packed in several ways; constants without a name are numbered."""
    if slot.name.startswith("constant_"):
        return f"packed_{len(packed)}"
    ways = sum(s is slot for s, _ in packed)
    return f"{slot.name}_packed{ways + 1 if ways else ''}"


def packed_constant(slot: Slot, shape: tuple[int, ...], layout: Layout, name: str) -> Slot:
    """A constant in another order, padded with zeros to a shape."""

    def padded(data: Any) -> Any:
        if shape == data.shape:
            return data
        import numpy as np

        return np.pad(data, [(0, n - d) for n, d in zip(shape, data.shape)])

    derivation = Derivation(
        slot,
        ("packed", shape, layout),
        lambda data: pack(padded(data), layout),
        lambda data: _begin(data, layout),
        blocks=lambda data: blocks(_packed_view(padded(data), layout)),
    )
    return Slot(name, shape, slot.dtype, CONSTANT, derivation=derivation)


def pack(data: Any, layout: Layout) -> Any:
    """The elements of a row-major array in the order of the layout (both arrays have the same shape)."""
    import numpy as np

    return np.ascontiguousarray(_packed_view(data, layout)).reshape(data.shape)


def _packed_view(data: Any, layout: Layout) -> Any:
    """The elements in the order of the layout, an axis for each of its digits; a view where the array is contiguous."""
    split: list[int] = []
    position: dict[tuple[int, int], int] = {}
    for axis in range(data.ndim):
        digits = sorted(((d, e) for a, d, e in layout if a == axis), reverse=True)
        for divisor, extent in digits:
            position[axis, divisor] = len(split)
            split.append(extent)
    order = [position[axis, divisor] for axis, divisor, _ in layout]
    return data.reshape(split).transpose(order)


def _begin(data: Any, layout: Layout) -> bytes:
    """The beginning of an array in a layout."""
    import numpy as np

    extents = [extent for _, _, extent in layout]
    count = min(BEGINNING, math.prod(extents))
    positions = np.zeros((data.ndim, count), dtype="int64")
    for (axis, divisor, _), digits in zip(layout, np.unravel_index(np.arange(count), extents), strict=True):
        positions[axis] += digits * divisor
    inside = np.all(positions < np.array(data.shape)[:, None], axis=0)
    elements = np.zeros(count, data.dtype)
    elements[inside] = data[tuple(positions[:, inside])]
    return elements.tobytes()
