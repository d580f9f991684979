"""Regions of images by a fixed number of samples: gathered, weighted and taken together."""

from __future__ import annotations

from ..arithmetic import add, cast, multiply, scalar, subtract
from ..memory_limit import counted, require_room
from ..value import Value, apply


def align(
    x: Value, rois: Value, images: Value, mode: str, shape: tuple[int, int], samples: int, scale: float, offset: float
) -> Value:
    """`(regions, C, *shape)`: the mean or maximum of `samples` times `samples` samples in each part of each region.

    `offset` is taken off scaled coordinates; with 0, regions are at least one pixel wide, as they were up to opset 15.
    """
    batch, channels, height, width = x.extents("the data of RoiAlign", rank=4)
    corners = [rois.call("take", scalar(k, "int32"), axis=1).call("expand_dims", axis=1) for k in range(4)]
    left, top, right, bottom = (add(multiply(c, scale), -offset) for c in corners)
    rows = _line(top, bottom, shape[0], samples, height, least=0.0 if offset else 1.0)
    columns = _line(left, right, shape[1], samples, width, least=0.0 if offset else 1.0)
    pixels = x.call("transpose", axes=[0, 2, 3, 1]).call("reshape", newshape=[batch * height * width, channels])
    start = multiply(cast(images, "int32"), height * width).call("reshape", newshape=[-1, 1, 1])
    accumulated = None
    for row, share in zip(rows[:2], rows[2:], strict=True):
        for column, part in zip(columns[:2], columns[2:], strict=True):
            pixel_indices = add(
                add(multiply(row, width).call("expand_dims", axis=2), column.call("expand_dims", axis=1)), start
            )
            weight = multiply(share.call("expand_dims", axis=2), part.call("expand_dims", axis=1))
            term = multiply(pixels.call("take", pixel_indices, axis=0), weight.call("expand_dims", axis=3))
            together = add if mode == "avg" else _larger
            accumulated = term if accumulated is None else together(accumulated, term)
    assert accumulated is not None
    split = accumulated.call("reshape", newshape=[-1, shape[0], samples, shape[1], samples, channels])
    pooled = split.call("mean" if mode == "avg" else "max", axis=[2, 4])
    return cast(pooled.call("transpose", axes=[0, 3, 1, 2]), x.dtype)


def _larger(x: Value, y: Value) -> Value:
    return x.call("maximum", y)


def _line(low: Value, high: Value, parts: int, samples: int, size: int, least: float) -> tuple[Value, ...]:
    """Both neighbours of each sample along an axis, and their weights, all `(regions, parts * samples)`.

    A sample more than a pixel outside weighs nothing.
    """
    length = subtract(high, low)
    if least:
        length = length.call("maximum", scalar(least, length.dtype))
    what = "the samples of a region"
    require_room((parts, samples), what)
    steps = (counted(parts, what)[:, None] + (counted(samples, what) + 0.5) / samples) / parts
    points = add(low, multiply(length, Value.constant(steps.reshape(1, -1), low.dtype)))
    inside = points.call("greater_equal", scalar(-1, points.dtype)).call(
        "logical_and", points.call("less_equal", scalar(size, points.dtype))
    )
    points = points.call("clip", a_min=0.0, a_max=float(size - 1))
    # What is no number lies nowhere.
    points = apply("where", inside, points, scalar(0, points.dtype))
    first = points.call("floor")
    behind = subtract(points, first)
    share = cast(inside, points.dtype)
    lower = cast(first, "int32")
    upper = add(lower, 1).call("minimum", scalar(size - 1, "int32"))
    return lower, upper, multiply(subtract(1.0, behind), share), multiply(behind, share)
