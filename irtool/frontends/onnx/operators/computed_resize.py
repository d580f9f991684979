"""Resize to sizes that are computed while the program runs, as detectors paste masks into boxes: `dyn.image.resize2d`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ....deferred import np
from ....ir import Constant, Dim, Expr, Tuple
from ....ops.base import is_call_to
from ..resampling import Filter, image_attributes, is_image_filter
from ..value import Value, apply


def resize_to_computed(x: Value, sizes: Value, axes: Sequence[int], way: Filter) -> Value | None:
    """An image (batch, channels, height, width) in another height and width; None if Relay has no operator for it.

    `sizes` are those of `axes`. Where batch and channels are among them, they have to be seen to stay as they are.
    """
    if x.rank != 4 or not is_image_filter(x, way) or way.rounding == "simple":
        return None
    if tuple(axes) == (0, 1, 2, 3):
        if list(_leading(x, sizes.expr, 2)) != [*x.shape[:2]]:
            return None
        sizes = sizes.call("strided_slice", begin=[2], end=[4], strides=[1], axes=[0])
    elif tuple(axes) != (2, 3):
        return None
    whole = Value.constant(np.zeros(4, "float32"))
    attributes = image_attributes(way, way.rounding)
    return apply("dyn.image.resize2d", x, sizes.call("cast", dtype="int64"), whole, layout="NCHW", **attributes)


def _leading(x: Value, e: Expr, count: int) -> Iterator[Dim]:
    """The first numbers of a vector, as far as the operands of its concatenation begin with constants, or with extents of `x`."""
    stack = [e]
    while stack and count:
        e = stack.pop()
        if is_call_to(e, "concatenate") and isinstance(e.args[0], Tuple):
            stack.extend(reversed(e.args[0].fields))
        elif is_call_to(e, "cast"):
            stack.append(e.args[0])
        elif isinstance(e, Constant) and isinstance(e.data, np.ndarray):
            for n in e.data.ravel()[:count].tolist():
                yield n
                count -= 1
        elif is_call_to(e, "strided_slice") and _is_shape_of(x, e.args[0]) and _is_beginning(e.attrs):
            for d in x.shape[: min(count, e.attrs.end[0])]:
                yield d
                count -= 1
        else:
            return


def _is_shape_of(x: Value, e: Expr) -> bool:
    return is_call_to(e, "shape_of") and e.args[0] is x.expr


def _is_beginning(attrs: Any) -> bool:
    """True for a slice of a vector that begins at its beginning and leaves nothing out."""
    return [*attrs.begin] == [0] and [*attrs.strides] in ([], [1]) and attrs.slice_mode == "end" and attrs.end[0] >= 0
