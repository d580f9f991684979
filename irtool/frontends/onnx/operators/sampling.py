"""Images sampled at the points of a grid."""

from __future__ import annotations

from collections.abc import Sequence

from ....deferred import np
from ....diagnostics import IrError
from ..arithmetic import add, cast, multiply, scalar, subtract
from ..memory_limit import require_numbers
from ..mistakes import DamagedModel, UnsupportedNode
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..value import Value

METHODS = {"linear": "bilinear", "bilinear": "bilinear", "nearest": "nearest", "cubic": "bicubic", "bicubic": "bicubic"}


@onnx_operator("GridSample")
class GridSample(OnnxOperator):
    """An image or volume `(N, C, …)` sampled at points `(N, …, 2 or 3)`, x first, over -1 … 1."""

    @since(16, 20, 22)
    def sample(
        self, x: Value, grid: Value, *, align_corners: int = 0, mode: str = "linear", padding_mode: str = "zeros"
    ) -> Result:
        if mode not in METHODS or padding_mode not in ("zeros", "border", "reflection"):
            raise IrError(f"mode {mode} with padding_mode {padding_mode} is unknown to ONNX", code=DamagedModel)
        if x.rank not in (4, 5) or (x.rank == 5 and METHODS[mode] == "bicubic"):
            raise IrError(f"{mode} samples of {x.rank - 2} spatial axes have no form in Relay", code=UnsupportedNode)
        grid.require_rank(x.rank, "the grid")
        points = grid.call("transpose", axes=[0, x.rank - 1, *range(1, x.rank - 1)])
        if points.dtype == "float16":
            points = cast(points, "float32")
        to_corners = bool(align_corners)
        if METHODS[mode] == "nearest":
            extents = x.extents("the data of GridSample")[2:]
            points = _to_pixels(points, extents, to_corners)
        return x.call(
            "image.grid_sample",
            points,
            method=METHODS[mode],
            layout="NCHW" if x.rank == 4 else "NCDHW",
            padding_mode=padding_mode,
            align_corners=to_corners,
        )


def _to_pixels(points: Value, extents: Sequence[int], to_corners: bool) -> Value:
    """The points moved to the centres of the nearest pixels, halves to even ones.

    image.grid_sample takes halves away from zero.
    """
    shape = (1, -1) + (1,) * (points.rank - 2)
    require_numbers(extents, "the extents of an image that is sampled")
    size = np.array(extents[::-1], "float64").reshape(shape)
    whole, offset = ((size - 1) / 2, (size - 1) / 2) if to_corners else (size / 2, (size - 1) / 2)
    pixels = add(multiply(points, Value.constant(whole, points.dtype)), Value.constant(offset, points.dtype))
    up = add(pixels, 0.5).call("floor")
    halfway = subtract(up, pixels).call("equal", scalar(0.5, pixels.dtype))
    odd = multiply(up, 0.5).call("floor").call("not_equal", multiply(up, 0.5))
    down = cast(halfway.call("logical_and", odd), pixels.dtype)
    pixel = subtract(up, down)
    back = 1 / np.where(whole, whole, 1)
    factor, summand = Value.constant(back, pixels.dtype), Value.constant(-offset * back, pixels.dtype)
    return add(multiply(pixel, factor), summand)
