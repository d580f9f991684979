"""Shapes in help lines: words of a command line that run as they stand."""

from __future__ import annotations

from .types import TensorType


def usual_extent(axis: int, rank: int) -> int:
    """An extent that is usual along an axis: one sample; of images three colours, height and width of 224; else 16 steps."""
    if axis == 0:
        return 1
    if rank == 4:
        return 3 if axis == 1 else 224
    return 16


def example_shape(name: str, t: TensorType) -> str:
    """The option `--shape` with a number for each open extent of a parameter of this type: `--shape x=1,3`."""
    extents = (
        d if isinstance(d, int) and d >= 0 else usual_extent(axis, len(t.shape)) for axis, d in enumerate(t.shape)
    )
    return f"--shape {name}={','.join(map(str, extents))}"


def bounded_shape(name: str, t: TensorType) -> str:
    """The option `--shape` with a bound for each open extent of a parameter of this type: `--shape 'x=?<=512,3'`."""
    extents = (str(d) if isinstance(d, int) and d >= 0 else "?<=512" for d in t.shape)
    return f"--shape '{name}={','.join(extents)}'"
