"""`image.affine_grid` and `image.grid_sample`: sampling an image at the points of a grid."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ... import te
from ...deferred import np
from ...ir import TensorType, Type
from ..base import Operator, Pattern, RelationError, Reporter, operator
from ..conversion import convert
from ..dtypes import is_float
from ..shapes import require_compatible, require_floats, require_rank, tensor
from .resample import round_half_away
from .sampling import GridSampling

CUBIC = -0.75
"""The coefficient of the cubic kernel, PyTorch's."""


@operator("image.affine_grid", "data", pattern=Pattern.INJECTIVE, attrs="AffineGridAttrs", level=5)
@dataclass(frozen=True)
class AffineGrid(Operator):
    """The points (x, y) of a `target_shape` grid over -1 … 1, moved by a 2 by 3 affine matrix per batch: (n, 2, h, w)."""

    target_shape: tuple[int, ...] | None

    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """`(batch, 2, height, width)` of the data's dtype, from `(batch, 2, 3)` and `target_shape`."""
        data = tensor(types[0])
        if data is None:
            return None
        require_floats(data, "data")
        require_rank(data, 3, "data")
        require_compatible(data.shape[1], 2, "axis 1 of data and the rows of an affine matrix")
        require_compatible(data.shape[2], 3, "axis 2 of data and the columns of an affine matrix")
        if self.target_shape is None or len(self.target_shape) != 2:
            raise RelationError("target_shape must have 2 elements")
        for extent in self.target_shape:
            if isinstance(extent, int) and extent < 2:
                raise RelationError(f"target_shape is {list(self.target_shape)}; a grid has at least 2 points per axis")
        return TensorType((data.shape[0], 2, *self.target_shape), data.dtype)

    def steps(self) -> tuple[float, float]:
        """Distance of the points in y and x. It falls short of the edge by 1e-7, as in TVM."""
        assert self.target_shape is not None
        height, width = self.target_shape
        return (2.0 - 1e-7) / (height - 1), (2.0 - 1e-7) / (width - 1)

    def evaluate(self, data: Any) -> Any:
        assert self.target_shape is not None
        real = data.dtype.type
        y, x = (
            real(-1) + np.arange(n).astype(data.dtype) * real(s)
            for n, s in zip(self.target_shape, self.steps(), strict=True)
        )
        matrix = data[:, :, None, None, :]
        return matrix[..., 0] * x + matrix[..., 1] * y[:, None] + matrix[..., 2]

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (data,) = inputs
        dtype = data.dtype
        dy, dx = self.steps()

        def element(n: Any, row: Any, i: Any, j: Any) -> Any:
            y = te.const(-1, dtype) + te.cast(i, dtype) * te.const(dy, dtype)
            x = te.const(-1, dtype) + te.cast(j, dtype) * te.const(dx, dtype)
            return data[n, row, 0] * x + data[n, row, 1] * y + data[n, row, 2]

        return te.compute(out_type.shape, element, name="affine_grid", tag="injective")


@operator("image.grid_sample", "data", "grid", pattern=Pattern.INJECTIVE, attrs="GridSampleAttrs", level=5)
@dataclass(frozen=True)
class GridSample(Operator):
    """An image (n, c, h, w) or volume (n, c, d, h, w) sampled at the points of `grid`, (n, 2 or 3, …), x first.

    Coordinates run over -1 … 1, which are the centres of the outermost pixels with `align_corners`, their edges without.
    `method` is `bilinear`, `nearest` or (images only) `bicubic`. A point outside is zero, or is brought in by
    `padding_mode` `border` or `reflection`.
    """

    method: str = "bilinear"
    layout: str = "NCHW"
    padding_mode: str = "zeros"
    align_corners: bool = True

    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype, batch and channels, and the spatial extents of the grid."""
        data, grid = tensor(types[0], "data"), tensor(types[1], "grid")
        if data is None or grid is None:
            return None
        rank = len(data.shape)
        if rank not in (4, 5):
            raise RelationError(f"data must be of rank 4 or 5, not {data}")
        require_rank(grid, rank, "grid")
        if not is_float(grid.dtype):
            raise RelationError(f"grid must hold floats, coordinates from -1 to 1, not {grid.dtype}")
        expected = "NCHW" if rank == 4 else "NCDHW"
        if self.layout != expected:
            raise RelationError(f'layout is "{self.layout}"; for data of rank {rank} it must be "{expected}"')
        methods = ("bilinear", "nearest", "bicubic")[: 7 - rank]
        for what, name, known in (
            ("method", self.method, methods),
            ("padding_mode", self.padding_mode, ("zeros", "border", "reflection")),
        ):
            if name not in known:
                raise RelationError(f'{what} is "{name}"; it can be {", ".join(known)}')
        require_compatible(data.shape[0], grid.shape[0], "the batches of data and grid")
        require_compatible(grid.shape[1], rank - 2, "axis 1 of grid and the number of coordinates")
        out_shape = (*data.shape[:2], *grid.shape[2:])
        reporter.require_elements(data.shape[2:], out_shape, f"there is no pixel in {data} to take others from")
        return TensorType(out_shape, data.dtype)

    def evaluate(self, data: Any, grid: Any) -> Any:
        spatial = data.shape[2:]
        points = [self._to_pixels(grid[:, len(spatial) - 1 - k], extent) for k, extent in enumerate(spatial)]
        if self.method == "bicubic":
            return convert(self._bicubic(data, points), data.dtype)
        points = [self._bring_in(p, extent) for p, extent in zip(points, spatial, strict=True)]
        if self.method == "nearest":
            return self._read(data, [round_half_away(p).astype(np.int64) for p in points])
        out = np.zeros((*data.shape[:2], *grid.shape[2:]), np.result_type(data.dtype, grid.dtype))
        lows = [np.floor(p) for p in points]
        for corner in itertools.product((0, 1), repeat=len(spatial)):
            weight = np.ones_like(points[0])
            for p, low, side in zip(points, lows, corner, strict=True):
                weight = weight * ((p - low) if side else (1 - (p - low)))
            position = [(low + side).astype(np.int64) for low, side in zip(lows, corner, strict=True)]
            out += self._read(data, position) * weight[:, None]
        return convert(out, data.dtype)

    def _to_pixels(self, coordinate: Any, extent: int) -> Any:
        real = coordinate.dtype.type
        if self.align_corners:
            return (coordinate + real(1)) * real(extent - 1) / real(2)
        return real(-0.5) + (coordinate + real(1)) * real(extent) / real(2)

    def _bring_in(self, p: Any, extent: int) -> Any:
        if self.padding_mode == "zeros":
            return p
        if self.padding_mode == "reflection":
            p = self._reflect(p, extent)
        p = np.where(p < extent - 1, p, p.dtype.type(extent - 1))  # NaN counts as beyond the last pixel
        return np.where(p > 0, p, p.dtype.type(0))

    def _reflect(self, p: Any, extent: int) -> Any:
        size, start = self._mirror(extent)
        if size == 0:
            return np.zeros_like(p)
        real = p.dtype.type
        away = np.abs(real(start) - p)
        times = np.trunc(away / real(size))
        extra = away - times * real(size)
        mirrored = np.where(np.mod(times, 2) == 0, extra + real(start), real(size) - extra + real(start))
        return np.where((p >= start) & (p <= size + start), p, mirrored)

    def _mirror(self, extent: int) -> tuple[int, float]:
        """The distance of the two mirrors, and where the first stands."""
        return (extent - 1, 0.0) if self.align_corners else (extent, -0.5)

    def _read(self, data: Any, indices: Sequence[Any]) -> Any:
        """The elements at integer points (each n, *out), zero outside: (n, c, *out)."""
        inside = np.ones(indices[0].shape, bool)
        clipped = []
        for a, extent in zip(indices, data.shape[2:], strict=True):
            inside &= (a >= 0) & (a < extent)
            clipped.append(np.clip(a, 0, extent - 1))
        n = np.arange(data.shape[0]).reshape([-1] + [1] * (indices[0].ndim - 1))
        samples = np.moveaxis(data, 1, -1)[(n, *clipped)]
        return np.moveaxis(np.where(inside[..., None], samples, data.dtype.type(0)), -1, 1)

    def _bicubic(self, data: Any, points: Sequence[Any]) -> Any:
        y, x = points
        y0, x0 = np.floor(y), np.floor(x)
        weights_y, weights_x = self._cubic(y - y0), self._cubic(x - x0)
        out = 0
        for i in range(4):
            line = 0
            row = y0 - 1 + i
            for j in range(4):
                column = x0 - 1 + j
                position = [
                    self._bring_in(p, extent).astype(np.int64)
                    for p, extent in zip((row, column), data.shape[2:], strict=True)
                ]
                line = line + self._read(data, position) * weights_x[j][:, None]
            out = out + line * weights_y[i][:, None]
        return out

    @staticmethod
    def _cubic(t: Any) -> list[Any]:
        def near(f: Any) -> Any:
            return ((CUBIC + 2) * f - (CUBIC + 3)) * f * f + 1

        def far(f: Any) -> Any:
            return ((CUBIC * f - 5 * CUBIC) * f + 8 * CUBIC) * f - 4 * CUBIC

        return [far(t + 1), near(t), near(1 - t), far(2 - t)]

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        data, grid = inputs
        spatial = data.shape[2:]
        real = grid.dtype

        def f(value: float) -> Any:
            return te.const(value, real)

        def to_pixels(coordinate: Any, extent: int) -> Any:
            if self.align_corners:
                return (coordinate + f(1)) * f(extent - 1) / f(2)
            return f(-0.5) + (coordinate + f(1)) * f(extent) / f(2)

        def bring_in(p: Any, extent: int) -> Any:
            if self.padding_mode == "zeros":
                return p
            if self.padding_mode == "reflection":
                size, start = self._mirror(extent)
                if size == 0:
                    return f(0)
                away = te.abs(f(start) - p)
                times = te.trunc(away / f(size))
                extra = away - times * f(size)
                even = (times - te.trunc(times / f(2)) * f(2)).equal(0)
                mirrored = te.select(even, extra + f(start), f(size) - extra + f(start))
                p = te.select(te.all(p >= f(start), p <= f(size + start)), p, mirrored)
            return te.max2(te.min2(p, f(extent - 1)), f(0))

        def coordinate(k: int, extent: int) -> Any:
            coordinate_axis = len(spatial) - 1 - k
            shape = (out_type.shape[0], *out_type.shape[2:])
            return te.compute(
                shape,
                lambda n, *i: to_pixels(grid[(n, coordinate_axis, *i)], extent),
                name="coordinate",
                tag="injective",
            )

        points = [coordinate(k, d) for k, d in enumerate(spatial)]
        sampling = GridSampling(data, points, out_type, bring_in, self._cubic)
        methods = {"nearest": sampling.nearest, "bilinear": sampling.linear, "bicubic": sampling.cubic}
        return methods[self.method]()
