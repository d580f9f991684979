"""Pooling of regions of interest. A region is (image, x1, y1, x2, y2), in pixels of the image before scaling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ... import te
from ...deferred import np
from ...ir import TensorType, Type
from ..base import Operator, Pattern, RelationError, Reporter, operator
from ..image.resample import round_half_away
from ..indexing.bounds import require_places
from ..shapes import require_compatible, require_rank, tensor
from ..typical import Regions, shape_of

EPSILON = 1e-5
FARTHEST = 2.0**24
"""Edges of regions that are pooled lie within this many pixels of the origin: float32 has all numbers up to it."""

MOST_SAMPLES = 1024
"""Samples per axis of a bin that `vision.roi_align` may be told to take: a bin has a million of them then."""


def _regions(data: Type | None, scale: float, layout: str) -> Regions | None:
    """Regions within the images; their coordinates are multiplied by `scale`."""
    shape = shape_of(data)
    if shape is None or len(shape) != 4 or not scale:
        return None
    height, width = shape[2:] if layout == "NCHW" else shape[1:3]
    return Regions(shape[0], height / scale, width / scale)


def pooled_type(types: Sequence[Type], reporter: Reporter, size: Sequence[int], layout: str) -> TensorType | None:
    """The type of pooled regions; shared by both operators."""
    data, rois = tensor(types[0], "data"), tensor(types[1], "rois")
    if data is None or rois is None:
        return None
    require_rank(data, 4, "data")
    require_rank(rois, 2, "rois")
    require_compatible(rois.shape[1], 5, "axis 1 of rois and the length of a region")
    if len(size) != 2:
        raise RelationError("pooled_size must have 2 elements")
    if layout == "NCHW":
        shape = (rois.shape[0], data.shape[1], *size)
        require_places(reporter, (data.shape[0], *data.shape[2:]), shape, "data")
        return TensorType(shape, data.dtype)
    if layout == "NHWC":
        shape = (rois.shape[0], *size, data.shape[3])
        require_places(reporter, data.shape[:3], shape, "data")
        return TensorType(shape, data.dtype)
    raise RelationError(f'layout is "{layout}"; it can be "NCHW" or "NHWC"')


def _image(index: Any, count: int) -> int:
    return int(min(max(index, 0), count - 1)) if index == index else 0


def _most_pixels(extent: int) -> int:
    """The pixels of a bin that count along an axis: four times those of the image, so that a huge region takes no time without end."""
    return 4 * extent + 16


def _pixels(size: Any, extent: int) -> int:
    """The number of pixels of a bin, at most `_most_pixels` (also of one that is infinite or NaN)."""
    most = _most_pixels(extent)
    return int(np.ceil(size)) if size < most else most


@operator(
    "vision.roi_align",
    "data",
    "rois",
    pattern=Pattern.OUT_ELEMWISE_FUSABLE,
    attrs="ROIAlignAttrs",
    level=5,
    declares_attrs=False,
)
@dataclass(frozen=True)
class ROIAlign(Operator):
    """Each region divided into `pooled_size` bins; a bin is the mean (`mode="avg"`) or maximum of samples in it.

    Samples lie on a regular grid of `sample_ratio` points per axis (as many as the bin has pixels where it is not
    positive, but no more than 16 plus four times those of the image) and are interpolated bilinearly; one more than a pixel outside of the image is
    zero, and so is one of a region that is infinite or NaN. Regions are at least a pixel long, but with `exact` they are what they
    are: those without an extent have no sample, where the number of samples follows from it, and a mean of 0. (TVM has no `exact`.)
    """

    pooled_size: tuple[int, ...]
    spatial_scale: float
    sample_ratio: int = -1
    layout: str = "NCHW"
    mode: str = "avg"
    exact: bool = False

    one_dtype = ("data", "result")

    def typical(self, types: Sequence[Type | None], out: Type | None, hint: Any) -> Sequence[Any]:
        return (None, _regions(types[0], self.spatial_scale, self.layout))

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """As many pictures as there are regions `(n, 5)`, of `pooled_size`, in the data's layout and dtype."""
        if self.mode not in ("avg", "max"):
            raise RelationError(f'mode is "{self.mode}"; it can be "avg" or "max"')
        if self.sample_ratio > MOST_SAMPLES:
            raise RelationError(
                f"sample_ratio {self.sample_ratio} is more than {MOST_SAMPLES} samples per axis of a bin"
            )
        return pooled_type(types, reporter, self.pooled_size, self.layout)

    def evaluate(self, data: Any, rois: Any) -> Any:
        images = data if self.layout == "NCHW" else data.transpose(0, 3, 1, 2)
        out = np.empty((len(rois), images.shape[1], *self.pooled_size), images.dtype)
        for n, roi in enumerate(rois.astype(np.float32)):
            out[n] = self._align(images[_image(roi[0], len(images))], roi[1:] * np.float32(self.spatial_scale))
        return out if self.layout == "NCHW" else out.transpose(0, 2, 3, 1)

    def _align(self, image: Any, roi: Any) -> Any:
        least = np.float32(-np.inf if self.exact else 1)
        x1, y1, x2, y2 = roi
        grid, weights = [], []
        for low, high, bins, extent in (
            (y1, y2, self.pooled_size[0], image.shape[1]),
            (x1, x2, self.pooled_size[1], image.shape[2]),
        ):
            size = (high - low if high - low > least else least) / np.float32(bins)
            samples = self.sample_ratio if self.sample_ratio > 0 else max(_pixels(size, extent), 0)
            starts = low + np.arange(bins, dtype=np.float32) * size
            steps = (np.arange(samples, dtype=np.float32) + np.float32(0.5)) * size / np.float32(max(samples, 1))
            coordinates = (starts[:, None] + steps).reshape(-1)
            inside = (coordinates >= -1) & (coordinates <= extent)
            coordinates = np.where(inside, np.clip(coordinates, 0, extent - 1), 0).astype(np.float32)
            base = np.floor(coordinates).astype(np.int64)
            t = coordinates - base
            grid.append((base, np.minimum(base + 1, extent - 1), samples))
            weights.append((inside, (1 - t).astype(np.float32), t.astype(np.float32)))
        (r0, r1, rows), (c0, c1, columns) = grid
        (in_rows, wr0, wr1), (in_columns, wc0, wc1) = weights
        wide = image.astype(np.float32)
        lines = wide[:, r0] * wr0[:, None] + wide[:, r1] * wr1[:, None]
        points = lines[:, :, c0] * wc0 + lines[:, :, c1] * wc1
        points = np.where(in_rows[:, None] & in_columns, points, np.float32(0))
        points = points.reshape(image.shape[0], self.pooled_size[0], rows, self.pooled_size[1], columns)
        if self.mode == "avg":
            return points.sum((2, 4), dtype=np.float32) / np.float32(max(rows * columns, 1))
        return points.max((2, 4), initial=np.finfo(np.float32).min)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        data, rois = inputs
        nchw = self.layout == "NCHW"
        images, channels = data.shape[0], data.shape[1 if nchw else 3]
        height, width = data.shape[2:] if nchw else data.shape[1:3]
        bins = self.pooled_size

        def f32(value: Any) -> Any:
            return te.const(value, "float32")

        def program(ib: Any, ins: Any, outs: Any) -> None:
            x, r = ins
            (out,) = outs

            def pixel(image: Any, c: Any, row: Any, column: Any) -> Any:
                index = (image, c, row, column) if nchw else (image, row, column, c)
                return te.cast(x[index], "float32")

            def place(point: Any, extent: int) -> tuple[Any, Any, Any, Any]:
                inside = te.all(point >= f32(-1), point <= f32(extent))
                clipped = ib.let(te.select(inside, te.max2(te.min2(point, f32(extent - 1)), f32(0)), f32(0)))
                base = ib.let(te.clip_index(te.floor(clipped), extent))
                return inside, base, te.min2(base + 1, extent - 1), ib.let(clipped - te.cast(base, "float32"))

            with ib.for_(rois.shape[0], name="n") as n:
                image = ib.let(te.clip_index(r[n, 0], images))
                low, size, samples = [], [], []
                for axis, count, extent in ((1, bins[0], height), (0, bins[1], width)):
                    begin = ib.let(te.cast(r[n, axis + 1], "float32") * f32(self.spatial_scale))
                    end = te.cast(r[n, axis + 3], "float32") * f32(self.spatial_scale)
                    low.append(begin)
                    length = end - begin if self.exact else te.max2(end - begin, f32(1))
                    size.append(ib.let(length / f32(count)))
                    # Compared as floats: of a huge region the number of pixels is no int32.
                    pixels = te.cast(te.ceil(te.max2(te.min2(size[-1], f32(_most_pixels(extent))), f32(0))), "int32")
                    samples.append(ib.let(te.const(self.sample_ratio, "int32") if self.sample_ratio > 0 else pixels))
                with (
                    ib.for_(channels, name="c") as c,
                    ib.for_(bins[0], name="ph") as ph,
                    ib.for_(bins[1], name="pw") as pw,
                ):
                    total = ib.local("float32", 0 if self.mode == "avg" else te.min_value("float32"))
                    with ib.for_(samples[0]) as i, ib.for_(samples[1]) as j:
                        point = []
                        for k, (p, q) in enumerate(((ph, i), (pw, j))):
                            start = low[k] + te.cast(p, "float32") * size[k]
                            step = (te.cast(q, "float32") + f32(0.5)) * size[k] / te.cast(samples[k], "float32")
                            point.append(ib.let(start + step))
                        in_y, y0, y1, ty = place(point[0], height)
                        in_x, x0, x1, tx = place(point[1], width)
                        left = pixel(image, c, y0, x0) * (f32(1) - ty) + pixel(image, c, y1, x0) * ty
                        right = pixel(image, c, y0, x1) * (f32(1) - ty) + pixel(image, c, y1, x1) * ty
                        value = ib.let(te.select(te.all(in_y, in_x), left * (f32(1) - tx) + right * tx, f32(0)))
                        total.set(total() + value if self.mode == "avg" else te.nan_maximum(total(), value))
                    value = total()
                    if self.mode == "avg":
                        value = value / te.max2(te.cast(samples[0], "float32") * te.cast(samples[1], "float32"), f32(1))
                    ib.store(out, (n, c, ph, pw) if nchw else (n, ph, pw, c), value)

        return te.extern(out_type.shape, inputs, program, dtype=out_type.dtype, name="roi_align")


@operator(
    "vision.roi_pool",
    "data",
    "rois",
    pattern=Pattern.OUT_ELEMWISE_FUSABLE,
    attrs="ROIPoolAttrs",
    level=5,
    declares_attrs=False,
)
@dataclass(frozen=True)
class ROIPool(Operator):
    """Each region, rounded to whole pixels, divided into `pooled_size` bins; a bin is its maximum, 0 where it is empty.

    An edge farther than 2^24 pixels from the origin, or NaN, is taken to be there.
    """

    no_gradient = "bins of whole pixels; roi_align has one"

    pooled_size: tuple[int, ...]
    spatial_scale: float
    layout: str = "NCHW"

    one_dtype = ("data", "result")

    def typical(self, types: Sequence[Type | None], out: Type | None, hint: Any) -> Sequence[Any]:
        return (None, _regions(types[0], self.spatial_scale, self.layout))

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """As many pictures as there are regions `(n, 5)`, of `pooled_size`, in the data's layout and dtype."""
        return pooled_type(types, reporter, self.pooled_size, self.layout)

    def evaluate(self, data: Any, rois: Any) -> Any:
        images = data if self.layout == "NCHW" else data.transpose(0, 3, 1, 2)
        out = np.zeros((len(rois), images.shape[1], *self.pooled_size), images.dtype)
        for n, roi in enumerate(rois.astype(np.float32)):
            image = images[_image(roi[0], len(images))]
            edges = round_half_away(roi[1:] * np.float32(self.spatial_scale))
            edges = np.where(edges < FARTHEST, edges, FARTHEST)
            x1, y1, x2, y2 = np.where(edges > -FARTHEST, edges, -FARTHEST).astype(np.int64)
            rows = self._bins(y1, y2, self.pooled_size[0], image.shape[1])
            columns = self._bins(x1, x2, self.pooled_size[1], image.shape[2])
            for i, (top, bottom) in enumerate(rows):
                for j, (left, right) in enumerate(columns):
                    if top < bottom and left < right:
                        out[n, :, i, j] = image[:, top:bottom, left:right].max((1, 2))
        return out if self.layout == "NCHW" else out.transpose(0, 2, 3, 1)

    @staticmethod
    def _bins(low: int, high: int, count: int, extent: int) -> list[tuple[int, int]]:
        size = np.float32(max(high - low + 1, 1)) / np.float32(count)
        k = np.arange(count, dtype=np.float32)
        begin = np.floor(k * size + np.float32(EPSILON)).astype(np.int64) + low
        end = np.ceil((k + 1) * size - np.float32(EPSILON)).astype(np.int64) + low
        return list(zip(np.clip(begin, 0, extent).tolist(), np.clip(end, 0, extent).tolist(), strict=True))

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        data, rois = inputs
        nchw = self.layout == "NCHW"
        images, channels = data.shape[0], data.shape[1 if nchw else 3]
        extents = data.shape[2:] if nchw else data.shape[1:3]

        def f32(value: Any) -> Any:
            return te.const(value, "float32")

        def program(ib: Any, ins: Any, outs: Any) -> None:
            x, r = ins
            (out,) = outs

            def edge(n: Any, k: int) -> Any:
                edge = te.round(te.cast(r[n, k], "float32") * f32(self.spatial_scale))
                return ib.let(te.cast(te.max2(te.min2(edge, f32(FARTHEST)), f32(-FARTHEST)), "int32"))

            def clip(value: Any, extent: int) -> Any:
                return ib.let(te.max2(te.min2(value, extent), 0))

            with ib.for_(rois.shape[0], name="n") as n:
                image = ib.let(te.clip_index(r[n, 0], images))
                low, size = [], []
                for axis, count in ((1, self.pooled_size[0]), (0, self.pooled_size[1])):
                    begin, end = edge(n, axis + 1), edge(n, axis + 3)
                    low.append(begin)
                    size.append(ib.let(te.cast(te.max2(end - begin + 1, 1), "float32") / f32(count)))
                with (
                    ib.for_(channels, name="c") as c,
                    ib.for_(self.pooled_size[0], name="ph") as ph,
                    ib.for_(self.pooled_size[1], name="pw") as pw,
                ):
                    first, last = [], []
                    for k, p in enumerate((ph, pw)):
                        cell = te.cast(p, "float32")
                        begin = te.cast(te.floor(cell * size[k] + f32(EPSILON)), "int32") + low[k]
                        end = te.cast(te.ceil((cell + f32(1)) * size[k] - f32(EPSILON)), "int32") + low[k]
                        first.append(clip(begin, extents[k]))
                        last.append(clip(end, extents[k]))
                    full = te.all(first[0] < last[0], first[1] < last[1])
                    best = ib.local(data.dtype, te.select(full, te.min_value(data.dtype), te.const(0, data.dtype)))
                    with ib.for_(first[0], last[0]) as i, ib.for_(first[1], last[1]) as j:
                        best.set(te.nan_maximum(best(), x[(image, c, i, j) if nchw else (image, i, j, c)]))
                    ib.store(out, (n, c, ph, pw) if nchw else (n, ph, pw, c), best())

        return te.extern(out_type.shape, inputs, program, dtype=out_type.dtype, name="roi_pool")
