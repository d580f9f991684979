"""Gradients of operators that sample images between their pixels: through gathered pixels and their weights.

Pixels are rows of channels, so that what is gathered, and scattered back, is contiguous.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

from ...deferred import np
from ...ir import Expr, TensorType, Tuple, TupleGetItem
from ...ops.base import call
from ...ops.image.warp import CUBIC
from ...ops.nn.geometry import pad_amounts
from ..core.arithmetic import add, divide, multiply, subtract
from ..core.constants import array_constant, scalar_constant
from ..core.reshaping import reshape_to
from .decomposition import through
from .relayout import in_layouts
from .rule import GradientSite, gradient, zeros_like

Tap = tuple[Expr, Expr]
"""A pixel's position along an axis, a whole number as a float, and its weight: tensors with an element for each point."""


class _Reals:
    """Arithmetic of tensors of one dtype with numbers."""

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype

    def number(self, value: float) -> Expr:
        return scalar_constant(value, self.dtype)

    def plus(self, e: Expr, value: float) -> Expr:
        return add(e, self.number(value))

    def times(self, e: Expr, value: float) -> Expr:
        return multiply(e, self.number(value))

    def less(self, e: Expr, value: float) -> Expr:
        return subtract(self.number(value), e)

    def within(self, e: Expr, low: float, high: float) -> Expr:
        """Truth values: `low <= e <= high`."""
        return call("logical_and", call("greater_equal", e, self.number(low)), call("less_equal", e, self.number(high)))

    def linear(self, position: Expr) -> list[Tap]:
        """The pixels before and after a position."""
        low = call("floor", position)
        part = subtract(position, low)
        return [(low, self.less(part, 1)), (self.plus(low, 1), part)]

    def cubic(self, position: Expr, move: Callable[[Expr], Expr]) -> list[Tap]:
        """The four pixels around a position, each moved into the image."""
        low = call("floor", position)
        part = subtract(position, low)

        def polynomial(t: Expr, *coefficients: float) -> Expr:
            total: Expr = self.number(coefficients[0])
            for c in coefficients[1:]:
                total = self.plus(multiply(total, t), c)
            return total

        near, far = (CUBIC + 2, -(CUBIC + 3), 0.0, 1.0), (CUBIC, -5 * CUBIC, 8 * CUBIC, -4 * CUBIC)
        weights = [
            polynomial(self.plus(part, 1), *far),
            polynomial(part, *near),
            polynomial(self.less(part, 1), *near),
            polynomial(self.less(part, 2), *far),
        ]
        return [(move(self.plus(low, k - 1)), w) for k, w in enumerate(weights)]

    def sampled(
        self, table: Expr, image: Expr, taps: Sequence[Sequence[Tap]], extents: Sequence[int], rank: int
    ) -> Expr:
        """The weighted sums of pixels of `table`, (images, …, channels): the shape of the points, of `rank` axes, and channels.

        `image` has the number of the image of each point. Pixels beyond the image are 0.
        """
        total: Expr | None = None
        for corner in product(*taps):
            weight: Expr | None = None
            rows = [call("expand_dims", image, axis=0)]
            for (position, part), extent in zip(corner, extents, strict=True):
                inside = self.within(position, 0, extent - 1)
                own = call("where", inside, part, zeros_like(part))
                weight = own if weight is None else multiply(weight, own)
                clipped = call("clip", position, a_min=0.0, a_max=float(extent - 1))
                rows.append(call("expand_dims", call("cast", clipped, dtype="int32"), axis=0))
            pixels = call("gather_nd", table, call("concatenate", Tuple(tuple(rows)), axis=0))
            assert weight is not None
            term = multiply(pixels, call("expand_dims", weight, axis=rank))
            total = term if total is None else add(total, term)
        assert total is not None
        return total


def _numbers(shape: Sequence[int]) -> Expr:
    """For each point the place along the first axis, of the image that it is in."""
    return array_constant(np.indices(tuple(shape))[0], "int32")


def _in_rows(data: Expr, rank: int) -> Expr:
    """Images whose channels, the second axis, come last."""
    return call("transpose", data, axes=(0, *range(2, rank), 1))


def _back(e: Expr, rank: int) -> Expr:
    return call("transpose", e, axes=(0, rank - 1, *range(1, rank - 1)))


@gradient("image.grid_sample")
def grid_sample(s: GradientSite) -> list[Expr]:
    """To the pixels around each point by their weights, and to the point by the slope of the weights."""
    a, shape, points = s.attrs, s.shape(), s.shape(1)
    data, grid = s.types
    assert isinstance(data, TensorType) and isinstance(grid, TensorType)
    spatial, rank = shape[2:], len(shape)
    if 0 in s.result_shape or 0 in shape:
        return [zeros_like(s.args[0]), zeros_like(s.args[1])]
    reals = _Reals(grid.dtype)
    axes = len(spatial)

    def make(data: Expr, *coordinates: Expr) -> Expr:
        table = _in_rows(data, rank)
        table = table if s.dtype == grid.dtype else call("cast", table, dtype=grid.dtype)
        taps = []
        for k, extent in enumerate(spatial):
            pixel = _to_pixels(reals, coordinates[axes - 1 - k], extent, a.align_corners)

            def move(p: Expr, extent: int = extent) -> Expr:
                return _brought_in(reals, p, extent, a)

            if a.method == "bicubic":
                taps.append(reals.cubic(pixel, move))
            elif a.method == "bilinear":
                taps.append(reals.linear(move(pixel)))
            else:
                nearest = call("round", move(pixel))
                taps.append([(nearest, call("ones_like", nearest))])
        image = _numbers((points[0], *points[2:]))
        return _back(reals.sampled(table, image, taps, spatial, rank - 1), rank)

    parts = call("split", s.args[1], indices_or_sections=axes, axis=1)
    point_type = TensorType((points[0], *points[2:]), grid.dtype)
    values = [(s.args[0], data)]
    values += [(call("squeeze", TupleGetItem(parts, k), axis=[1]), point_type) for k in range(axes)]
    grad = s.grad if s.dtype == grid.dtype else call("cast", s.grad, dtype=grid.dtype)
    of_data, *of_coordinates = through(grad, make, values)
    return [of_data, call("stack", Tuple(tuple(of_coordinates)), axis=1)]


def _to_pixels(reals: _Reals, coordinate: Expr, extent: int, align_corners: bool) -> Expr:
    if align_corners:
        return reals.times(reals.plus(coordinate, 1), (extent - 1) / 2)
    return reals.plus(reals.times(reals.plus(coordinate, 1), extent / 2), -0.5)


def _brought_in(reals: _Reals, position: Expr, extent: int, attrs: object) -> Expr:
    mode, corners = attrs.padding_mode, attrs.align_corners  # type: ignore[attr-defined]  # of grid_sample
    if mode == "zeros":
        return position
    if mode == "reflection":
        size, start = (extent - 1, 0.0) if corners else (extent, -0.5)
        if not size:
            return zeros_like(position)
        away = call("abs", reals.less(position, start))
        times = call("trunc", divide(away, reals.number(size)))
        extra = subtract(away, reals.times(times, size))
        even = call("equal", call("trunc_mod", times, reals.number(2)), reals.number(0))
        mirrored = call("where", even, reals.plus(extra, start), reals.less(extra, size + start))
        position = call("where", reals.within(position, start, size + start), position, mirrored)
    return call("clip", position, a_min=0.0, a_max=float(extent - 1))


@gradient("image.affine_grid")
def affine_grid(s: GradientSite) -> list[Expr]:
    """The sums of the gradient times x, y and 1."""
    height, width = s.result_shape[2:]
    dy, dx = s.attrs.steps()
    y, x = (-1 + np.arange(n) * d for n, d in ((height, dy), (width, dx)))
    points = np.stack(
        [np.broadcast_to(x, (height, width)), np.broadcast_to(y[:, None], (height, width)), np.ones((height, width))]
    )
    flat = reshape_to(s.grad, (s.shape()[0] * 2, height * width))
    product = call("nn.dense", flat, array_constant(points.reshape(3, -1), s.dtype), units=3)
    return [reshape_to(product, s.shape())]


@gradient("nn.deformable_conv2d")
def deformable_conv2d(s: GradientSite) -> list[Expr]:
    """Through the samples of all taps, whose product with the weights the convolution is."""
    a = s.attrs
    layouts = (a.data_layout, a.data_layout, a.kernel_layout, a.out_layout or a.data_layout)
    if layouts != ("NCHW", "NCHW", "OIHW", "NCHW"):
        return in_layouts(s, layouts, ("NCHW", "NCHW", "OIHW", "NCHW"), deformable_conv2d)
    (batch, channels, height, width), (outputs, depth, *kernel) = s.shape(), s.shape(2)
    rows, columns = s.result_shape[2:]
    if 0 in s.result_shape or 0 in s.shape():
        return [zeros_like(x) for x in s.args]
    parts, groups = a.deformable_groups, a.groups
    taps = (batch, parts, *kernel, rows, columns)
    reals = _Reals(s.dtype)
    pads = pad_amounts(a.padding, 2)

    def make(data: Expr, down: Expr, across: Expr, weight: Expr) -> Expr:
        split = reshape_to(data, (batch * parts, channels // parts, height, width))
        positions = []
        for axis, moved in enumerate((down, across)):
            place = np.arange(kernel[axis])[:, None] * a.dilation[axis] + np.arange(taps[4 + axis]) * a.strides[axis]
            fixed = (place - pads[axis][0]).reshape([n if i in (2 + axis, 4 + axis) else 1 for i, n in enumerate(taps)])
            positions.append(add(moved, array_constant(fixed, s.dtype)))
        inside = [
            call("logical_and", call("greater_equal", p, reals.number(0)), call("less", p, reals.number(n)))
            for p, n in zip(positions, (height, width), strict=True)
        ]
        image = array_constant(np.arange(batch * parts).reshape(batch, parts, 1, 1, 1, 1) + np.zeros(taps), "int32")
        pixels = reals.sampled(_in_rows(split, 4), image, [reals.linear(p) for p in positions], (height, width), 6)
        seen = call("where", call("expand_dims", call("logical_and", *inside), axis=6), pixels, zeros_like(pixels))
        # (parts, channels of one, batch, rows, columns, taps): a matrix for each group
        ordered = call("transpose", seen, axes=(1, 6, 0, 4, 5, 2, 3))
        points, each = batch * rows * columns, kernel[0] * kernel[1]
        grouped = call("transpose", reshape_to(ordered, (groups, depth, points, each)), axes=(0, 2, 1, 3))
        left = reshape_to(grouped, (groups, points, depth * each))
        right = reshape_to(weight, (groups, outputs // groups, depth * each))
        result = call("nn.batch_matmul", left, right, transpose_a=False, transpose_b=True)
        whole = reshape_to(result, (groups, batch, rows, columns, outputs // groups))
        return reshape_to(call("transpose", whole, axes=(1, 0, 4, 2, 3)), (batch, outputs, rows, columns))

    data, offset, weight = s.args
    pairs = reshape_to(offset, (batch, parts, *kernel, 2, rows, columns))
    halves = call("split", pairs, indices_or_sections=2, axis=4)
    tap_type = TensorType(taps, s.dtype)
    values = [(data, s.types[0])]
    values += [(call("squeeze", TupleGetItem(halves, k), axis=[4]), tap_type) for k in range(2)]
    grad = s.grad if s.result_dtype == s.dtype else call("cast", s.grad, dtype=s.dtype)
    of_data, *of_moves, of_weight = through(grad, make, [*values, (weight, s.types[2])])
    return [of_data, reshape_to(call("stack", Tuple(tuple(of_moves)), axis=4), s.shape(1)), of_weight]


@gradient("vision.roi_align")
def roi_align(s: GradientSite) -> list[Expr]:
    """To the pixels around each sample by their weights, and to the region by the slope of the weights."""
    a = s.attrs
    if a.sample_ratio <= 0:
        raise s.refuse(
            "is defined for a sample_ratio above 0; otherwise the number of samples follows from the regions"
        )
    layout = "NCHW" if a.layout == "NCHW" else "NHWC"
    images = tuple(s.shape()[layout.index(c)] for c in "NCHW")
    count, extents = s.shape(1)[0], images[2:]
    if 0 in s.result_shape or 0 in images:
        return [zeros_like(x) for x in s.args]
    ratio, bins = a.sample_ratio, a.pooled_size
    points = (count, bins[0], ratio, bins[1], ratio)
    reals = _Reals(s.dtype)

    def make(data: Expr, image: Expr, *bounds: Expr) -> Expr:
        table = _in_rows(data, 4) if layout == "NCHW" else data
        taps, insides = [], []
        for axis, extent in enumerate(extents):
            low, high = (reals.times(bounds[k], a.spatial_scale) for k in (1 - axis, 3 - axis))
            length = subtract(high, low)
            size = reals.times(length if a.exact else call("maximum", length, reals.number(1)), 1 / bins[axis])
            steps = (np.arange(bins[axis])[:, None] + (np.arange(ratio) + 0.5) / ratio).reshape(
                [n if i in (1 + 2 * axis, 2 + 2 * axis) else 1 for i, n in enumerate(points)]
            )
            place = add(_for_each(low), multiply(_for_each(size), array_constant(steps, s.dtype)))
            place = add(place, array_constant(np.zeros(points), s.dtype))
            insides.append(reals.within(place, -1, extent))
            clipped = call("clip", place, a_min=0.0, a_max=float(extent - 1))
            taps.append(reals.linear(clipped))
        image_of = add(_for_each(image), array_constant(np.zeros(points), "int32"))
        pixels = reals.sampled(table, image_of, taps, extents, 5)
        inside = call("expand_dims", call("logical_and", *insides), axis=5)
        seen = call("where", inside, pixels, zeros_like(pixels))
        pooled = call("mean" if a.mode == "avg" else "max", seen, axis=(2, 4), keepdims=False)
        return _back(pooled, 4) if layout == "NCHW" else pooled

    parts = call("split", s.args[1], indices_or_sections=5, axis=1)
    columns = [call("squeeze", TupleGetItem(parts, k), axis=[1]) for k in range(5)]
    number = call("clip", call("cast", columns[0], dtype="int32"), a_min=0.0, a_max=float(images[0] - 1))
    vector = TensorType((count,), s.dtype)
    values = [(s.args[0], s.types[0]), (number, TensorType((count,), "int32")), *((c, vector) for c in columns[1:])]
    of_data, _, *of_bounds = through(s.grad, make, values)
    return [of_data, call("stack", Tuple((zeros_like(columns[0]), *of_bounds)), axis=1)]


def _for_each(vector: Expr) -> Expr:
    """A vector with an element for each region, along four more axes."""
    return call("expand_dims", vector, axis=1, num_newaxis=4)
