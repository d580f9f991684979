"""Borders around tensors: `Pad`, `CenterCropPad`."""

from __future__ import annotations

from collections.abc import Sequence

from ....deferred import np
from ....diagnostics import IrError
from ..arithmetic import cast
from ..memory_limit import counted, require_room
from ..mistakes import DamagedModel, UnknownExtent
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..value import Value
from .choice import constant_number

MODES = ("constant", "reflect", "edge", "wrap")


@onnx_operator("Pad")
class Pad(OnnxOperator):
    """A border of a number, of the nearest elements, of reflected or of repeated ones; negative widths crop."""

    @since(2)
    def by_attribute(self, x: Value, *, pads: tuple[int, ...], mode: str = "constant", value: float = 0.0) -> Result:
        return self._known(x, pads, range(x.rank), Value.constant(value, x.dtype), mode)

    @since(11, 13)
    def by_input(self, x: Value, pads: Value, value: Value | None = None, *, mode: str = "constant") -> Result:
        return self.along_axes(x, pads, value, None, mode=mode)

    @since(18, 19, 21, 23, 24, 25)
    def along_axes(
        self, x: Value, pads: Value, value: Value | None = None, axes: Value | None = None, *, mode: str = "constant"
    ) -> Result:
        value = Value.constant(0, x.dtype) if value is None else value
        value = value.call("reshape", newshape=[]) if value.shape else value
        chosen = range(x.rank) if axes is None else x.axes(axes.ints("the axes of Pad"))
        if pads.known is None:
            return self._computed(x, pads, chosen, value, mode)
        return self._known(x, pads.ints("the widths of Pad"), chosen, value, mode)

    def _known(self, x: Value, pads: Sequence[int], axes: Sequence[int], value: Value, mode: str) -> Value:
        if mode not in MODES:
            raise IrError(f"mode is {mode}; it can be {', '.join(MODES)}", code=DamagedModel)
        if len(pads) != 2 * len(axes):
            raise IrError(f"{len(pads)} widths are given for {len(axes)} axes", code=DamagedModel)
        widths = [(0, 0)] * x.rank
        for i, axis in enumerate(axes):
            widths[axis] = (pads[i], pads[i + len(axes)])
        if all(w == (0, 0) for w in widths):
            return x
        if mode == "constant" and min(map(min, widths)) >= 0:
            return _bordered(x, value, widths)
        x = _cropped(x, widths)
        widths = [(max(before, 0), max(after, 0)) for before, after in widths]
        if all(w == (0, 0) for w in widths):
            return x
        if mode == "constant":
            return _bordered(x, value, widths)
        if mode == "edge" or (
            mode == "reflect" and all(_reflects_once(d, w) for d, w in zip(x.shape, widths, strict=True))
        ):
            return x.call("nn.pad", Value.constant(0, x.dtype), pad_width=widths, pad_mode=mode)
        return _counted_on(x, widths, mode)

    def _computed(self, x: Value, pads: Value, axes: Sequence[int], value: Value, mode: str) -> Value:
        if mode == "wrap" or len(axes) != x.rank:
            raise IrError("the widths must be known to repeat elements, or along some axes only", code=UnknownExtent)
        widths = cast(pads, "int64").call("reshape", newshape=[2, x.rank]).call("transpose", axes=[1, 0])
        return x.call("dyn.nn.pad", widths, value, pad_width=(), pad_mode=mode)


def _bordered(x: Value, value: Value, widths: Sequence[tuple[int, int]]) -> Value:
    if x.dtype == "bool":
        return cast(_bordered(cast(x, "uint8"), cast(value, "uint8"), widths), "bool")
    number = constant_number(value)
    value = value if number is None else Value.constant(number, x.dtype)
    return x.call("nn.pad", value, pad_width=widths, pad_mode="constant")


def _cropped(x: Value, widths: Sequence[tuple[int, int]]) -> Value:
    """The tensor cropped by the negative widths."""
    axes = [i for i, w in enumerate(widths) if min(w) < 0]
    if not axes:
        return x
    begin = [max(-widths[i][0], 0) for i in axes]
    end = [int(x.extents("the data of Pad")[i]) - max(-widths[i][1], 0) for i in axes]
    return x.call("strided_slice", begin=begin, end=end, strides=[1] * len(axes), axes=axes)


def _reflects_once(extent: object, width: tuple[int, int]) -> bool:
    return not isinstance(extent, int) or max(width) < extent or max(width) == 0


def _counted_on(x: Value, widths: Sequence[tuple[int, int]], mode: str) -> Value:
    """The elements at positions as numpy pads them: positions outside continue from the other end, or backwards."""
    for axis, width in enumerate(widths):
        if max(width):
            extent = x.extents("the data of Pad")[axis]
            if not extent:
                raise IrError(f"axis {axis} of {x.tensor} has no elements to repeat", code=DamagedModel)
            require_room((extent + sum(width),), "the result of Pad")
            positions = np.pad(counted(extent, "the data of Pad"), width, mode)  # type: ignore[call-overload]  # `mode` is one of numpy's words
            x = x.call("take", Value.constant(positions.astype("int64")), axis=axis)
    return x
