"""Images in another size."""

from __future__ import annotations

from typing import ClassVar

from ....deferred import np
from ...onnx.arithmetic import cast
from ...onnx.value import Value, apply
from ..operator import Operand, Result, TfliteOperator, tflite_operator
from ..quantities import number
from ..room import require_room


class _Resize(TfliteOperator):
    def extents(self, x: Operand, size: Operand) -> tuple[int, int]:
        """Rows and columns of the result."""
        out = size.ints("the size of a resize")
        if x.rank != 4 or len(out) != 2 or min(out) < 1:
            raise self.damaged(f"a tensor of the shape {x.shape} resized to {out}")
        require_room(out[0], what="the rows of a resize")
        require_room(out[1], what="the columns of a resize")
        return out[0], out[1]


@tflite_operator("RESIZE_NEAREST_NEIGHBOR")
class ResizeNearest(_Resize):
    """The nearest element of each place."""

    def convert(
        self, x: Operand, size: Operand, *, align_corners: bool = False, half_pixel_centers: bool = False
    ) -> Result:
        y = x.value
        for axis, n in enumerate(self.extents(x, size), 1):
            m = x.shape[axis]
            scale = np.float32(m - 1) / np.float32(n - 1) if align_corners and n > 1 else np.float32(m) / np.float32(n)
            position = (np.arange(n, dtype=np.float32) + np.float32(0.5 if half_pixel_centers else 0)) * scale
            places = np.floor(position + np.float32(0.5)) if align_corners else np.floor(position)
            places = np.clip(places, 0, m - 1).astype(np.int32)
            y = y.call("take", Value.constant(places), axis=axis, mode="fast")
        return y


@tflite_operator("RESIZE_BILINEAR")
class ResizeBilinear(_Resize):
    """Elements between four neighbours; of integers with weights of 10 bits, rounded a half away from zero."""

    types: ClassVar[tuple[str, ...]] = ("float32", "int8", "uint8", "int16")

    def convert(
        self, x: Operand, size: Operand, *, align_corners: bool = False, half_pixel_centers: bool = False
    ) -> Result:
        extents = self.extents(x, size)
        if x.dtype == "float32":
            mode = "align_corners" if align_corners else "half_pixel" if half_pixel_centers else "asymmetric"
            rule = {"layout": "NHWC", "method": "linear", "coordinate_transformation_mode": mode}
            return x.call("image.resize2d", size=list(extents), rounding_method="", roi=(0.0, 0.0, 0.0, 0.0), **rule)
        if x.dtype == "uint8":
            return self._bytes(x, extents, align_corners, half_pixel_centers)
        total = cast(x.value, "int64" if x.dtype == "int16" else "int32")
        for axis, n in enumerate(extents, 1):
            low, high, weight = _fixed_places(x.shape[axis], n, align_corners, half_pixel_centers)
            total = _between(total, axis, low, high, (weight, 1024 - weight))
        half = apply("where", total.call("greater", _of(total, 0)), _of(total, 1 << 19), _of(total, -(1 << 19)))
        return cast(apply("trunc_divide", apply("add", total, half), _of(total, 1 << 20)), x.dtype)

    def _bytes(self, x: Operand, extents: tuple[int, int], align_corners: bool, half_pixel_centers: bool) -> Value:
        """Bytes are interpolated in float32, half a step added, and cut."""
        parts = []
        for axis, n in enumerate(extents, 1):
            parts.append(_real_places(x.shape[axis], n, align_corners, half_pixel_centers))
        data = cast(x.value, "float32")
        (y0, y1, dy), (x0, x1, dx) = parts
        total: Value | None = None
        for columns, weight in ((x0, 1 - dx), (x1, dx)):
            for rows, row_weight in ((y0, 1 - dy), (y1, dy)):
                position = data.call("take", Value.constant(rows), axis=1, mode="fast")
                position = position.call("take", Value.constant(columns), axis=2, mode="fast")
                position = apply(
                    "multiply", position, Value.constant(row_weight.astype(np.float32).reshape(1, -1, 1, 1))
                )
                position = apply("multiply", position, Value.constant(weight.astype(np.float32).reshape(1, 1, -1, 1)))
                total = position if total is None else apply("add", total, position)
        assert total is not None
        return cast(apply("add", total, Value.constant(np.float32(0.5))), "uint8")


def _of(x: Value, value: int) -> Value:
    return Value.constant(np.asarray(value, x.dtype)) if x.dtype != "int32" else number(value)


def _between(x: Value, axis: int, low: np.ndarray, high: np.ndarray, weights: tuple[np.ndarray, np.ndarray]) -> Value:
    """The weighted sums of two elements along an axis."""
    shape = [1] * x.rank
    shape[axis] = -1
    near = x.call("take", Value.constant(low), axis=axis, mode="fast")
    far = x.call("take", Value.constant(high), axis=axis, mode="fast")
    far_weight, near_weight = (Value.constant(np.ascontiguousarray(w.reshape(shape).astype(x.dtype))) for w in weights)
    return apply("add", apply("multiply", near, near_weight), apply("multiply", far, far_weight))


def _fixed_places(m: int, n: int, corners: bool, halves: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The two neighbours of each place, and the weight of the second in 1 / 1024."""
    scale = (1024 * (m - 1) + (n - 1) // 2) // (n - 1) if corners and n > 1 else (1024 * m + n // 2) // n
    position = np.arange(n, dtype=np.int64) * scale
    if halves:
        position = position + scale // 2 - 512
    low = np.maximum(np.trunc(position / 1024).astype(np.int64), 0)
    high = np.minimum(np.trunc((position + 1023) / 1024).astype(np.int64), m - 1)
    weight = position - 1024 * low
    return low.astype(np.int32), high.astype(np.int32), weight


def _real_places(m: int, n: int, corners: bool, halves: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The two neighbours of each place, and the weight of the second."""
    scale = np.float32(m - 1) / np.float32(n - 1) if corners and n > 1 else np.float32(m) / np.float32(n)
    position = np.arange(n, dtype=np.float32)
    position = (position + np.float32(0.5)) * scale - np.float32(0.5) if halves else position * scale
    low = np.maximum(np.floor(position), 0).astype(np.int32)
    high = np.minimum(np.ceil(position), m - 1).astype(np.int32)
    return low, high, position - low
