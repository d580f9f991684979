"""`image.dilation2d`: morphological dilation of images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ... import te
from ...deferred import np
from ...ir import TensorType, Type
from ..base import VOID, DType, Operator, Pattern, RelationError, Reporter, operator
from ..layout import Layout, convert, convert_shape
from ..nn.geometry import require_least
from ..shapes import add, floordiv, mul, require_compatible, sub, tensor


def four_paddings(padding: Sequence[int]) -> tuple[int, int, int, int]:
    """Top, left, bottom and right of a padding of one, two or four numbers."""
    if len(padding) == 1:
        return (padding[0],) * 4
    if len(padding) == 2:
        return (padding[0], padding[1], padding[0], padding[1])
    if len(padding) == 4:
        return (padding[0], padding[1], padding[2], padding[3])
    raise RelationError(f"padding has {len(padding)} numbers; it can have 1, 2 or 4")


@operator("image.dilation2d", "data", "weight", pattern=Pattern.OUT_ELEMWISE_FUSABLE, attrs="Dilation2DAttrs", level=2)
@dataclass(frozen=True)
class Dilation2D(Operator):
    """Each pixel becomes the maximum of its neighbours plus the structuring element's weights, per channel.

    The border that `padding` adds is zero. Of `strides` and `dilations` the first two count, for height and width; some
    importers write four.
    """

    no_gradient = "no operator keeps the positions of its maxima"

    strides: tuple[int, ...] = (1, 1)
    padding: tuple[int, ...] = (0, 0)
    dilations: tuple[int, ...] = (1, 1)
    data_layout: str = "NCHW"
    kernel_layout: str = "IHW"
    out_dtype: DType = VOID

    dtype_attribute = "out_dtype"
    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """As a convolution of as many channels as the data has, which the weights have, too; `out_dtype` or the data's
        dtype.
        """
        data, weight = tensor(types[0], "data"), tensor(types[1], "weight")
        if data is None or weight is None:
            return None
        n, c, h, w = convert_shape(data.shape, self.data_layout, "NCHW")
        channels, kh, kw = convert_shape(weight.shape, self.kernel_layout, "IHW")
        require_compatible(c, channels, "the channels of data and weight")
        if len(self.strides) < 2 or len(self.dilations) < 2 or min(*self.strides, *self.dilations) < 1:
            raise RelationError("strides and dilations must each be two positive numbers")
        require_least(self.padding, "padding", 0)
        top, left, bottom, right = four_paddings(self.padding)
        out = []
        for extent, kernel, pad, stride, dilation in (
            (h, kh, top + bottom, self.strides[0], self.dilations[0]),
            (w, kw, left + right, self.strides[1], self.dilations[1]),
        ):
            if isinstance(kernel, int) and kernel < 1:
                raise RelationError(f"a structuring element must have an element at least: {weight}")
            covered = add(mul(sub(kernel, 1), dilation), 1)
            margin = sub(add(extent, pad), covered)
            if isinstance(margin, int) and margin < 0:
                raise RelationError(
                    f"a structuring element that covers {covered} does not fit {add(extent, pad)} pixels"
                )
            out.append(add(floordiv(margin, stride), 1))
        shape = convert_shape((n, channels, *out), "NCHW", self.data_layout)
        return TensorType(shape, self.out_dtype or data.dtype)

    def evaluate(self, data: Any, weight: Any) -> Any:
        dtype = self.out_dtype or data.dtype
        x = convert(data, self.data_layout, "NCHW").astype(dtype)
        k = convert(weight, self.kernel_layout, "IHW").astype(dtype)
        top, left, bottom, right = four_paddings(self.padding)
        x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
        (sh, sw), (dh, dw) = self.strides[:2], self.dilations[:2]
        height = (x.shape[2] - (k.shape[1] - 1) * dh - 1) // sh + 1
        width = (x.shape[3] - (k.shape[2] - 1) * dw - 1) // sw + 1
        out: Any = None
        for i in range(k.shape[1]):
            for j in range(k.shape[2]):
                rows = slice(i * dh, i * dh + (height - 1) * sh + 1, sh)
                columns = slice(j * dw, j * dw + (width - 1) * sw + 1, sw)
                value = x[:, :, rows, columns] + k[:, i, j].reshape(-1, 1, 1)
                out = value if out is None else np.maximum(out, value)
        return convert(out, "NCHW", self.data_layout)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        data, weight = inputs
        layout, kernel = Layout.parse(self.data_layout), Layout.parse(self.kernel_layout)
        extents = [data.shape[layout.index(letter)] for letter in "HW"]
        top, left, _, _ = four_paddings(self.padding)
        taps = [te.reduce_axis(weight.shape[kernel.index(letter)], name=f"r{letter.lower()}") for letter in "HW"]

        def element(*i: Any) -> Any:
            index_of = dict(zip(layout.primals, i, strict=True))
            positions, inside = [], []
            for k, (letter, before) in enumerate((("H", top), ("W", left))):
                place = index_of[letter] * self.strides[k] + taps[k] * self.dilations[k] - before
                positions.append(place)
                inside += [place >= 0, place < extents[k]]
            source = {**index_of, "H": positions[0], "W": positions[1]}
            value = data[tuple(source[letter] for letter in layout.primals)]
            if any(self.padding):
                value = te.if_then_else(te.all(*inside), value, te.const(0, data.dtype))
            near = {"I": index_of["C"], "H": taps[0], "W": taps[1]}
            added = weight[tuple(near[letter] for letter in kernel.primals)]
            return te.max(te.cast(value, out_type.dtype) + te.cast(added, out_type.dtype), axis=taps)

        return te.compute(out_type.shape, element, name="dilation2d", tag="dilation2d")
