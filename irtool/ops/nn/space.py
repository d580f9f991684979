"""Operators that move elements between the batch or channel axis and the spatial axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ... import te
from ...deferred import np
from ...ir import TensorType, Type
from ..base import Operator, Pattern, RelationError, Reporter, operator
from ..conversion import number_as
from ..layout import Layout, convert, convert_shape
from ..shapes import add, floordiv, mul, sub, tensor


def _pairs(amounts: Sequence[Sequence[int]], blocks: Sequence[int], rank: int, what: str) -> None:
    if len(amounts) != len(blocks):
        raise RelationError(f"{what} has {len(amounts)} pairs, but block_shape has {len(blocks)} elements")
    if len(blocks) >= rank:
        raise RelationError(f"a tensor of rank {rank} does not have {len(blocks)} spatial axes")
    for i, pair in enumerate(amounts):
        if len(pair) != 2:
            raise RelationError(f"{what} {i} has {len(pair)} numbers; it must have 2")
    for b in blocks:
        if b < 1:
            raise RelationError(f"block_shape {list(blocks)} must be positive")


@operator("nn.space_to_batch_nd", "data", pattern=Pattern.INJECTIVE, attrs="SpaceToBatchNDAttrs", level=5)
@dataclass(frozen=True)
class SpaceToBatchND(Operator):
    """Blocks of `block_shape` of the axes behind the first, padded by `paddings` with `pad_value`, go to the batch.

    What does not fill a block is dropped.
    """

    block_shape: tuple[int, ...] = (1, 1)
    paddings: tuple[tuple[int, ...], ...] = field(kw_only=True)
    pad_value: float = 0.0

    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype; axis 0 times all blocks, the next axes padded and divided by theirs."""
        data = tensor(types[0])
        if data is None:
            return None
        _pairs(self.paddings, self.block_shape, len(data.shape), "paddings")
        shape = list(data.shape)
        shape[0] = mul(shape[0], math.prod(self.block_shape))
        for i, (block, pair) in enumerate(zip(self.block_shape, self.paddings, strict=True), 1):
            shape[i] = floordiv(add(shape[i], sum(pair)), block)
        return TensorType(tuple(shape), data.dtype)

    def evaluate(self, data: Any) -> Any:
        rest = data.ndim - 1 - len(self.block_shape)
        widths = [(0, 0), *self.paddings, *[(0, 0)] * rest]
        padded = np.pad(data, widths, constant_values=number_as(self.pad_value, data.dtype))
        whole = [slice(0, d - d % b) for d, b in zip(padded.shape[1:], self.block_shape, strict=False)]
        padded = padded[(slice(None), *whole)]
        split = [data.shape[0]]
        for extent, block in zip(padded.shape[1:], self.block_shape, strict=False):
            split += [extent // block, block]
        n = len(self.block_shape)
        order = [*range(2, 2 * n + 1, 2), 0, *range(1, 2 * n, 2), *range(2 * n + 1, 2 * n + 1 + rest)]
        moved = padded.reshape([*split, *padded.shape[n + 1 :]]).transpose(order)
        outer = [d // b for d, b in zip(padded.shape[1:], self.block_shape, strict=False)]
        return moved.reshape([data.shape[0] * math.prod(self.block_shape), *outer, *padded.shape[n + 1 :]])

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (data,) = inputs
        n = len(self.block_shape)

        def element(*i: Any) -> Any:
            digits, batch = (
                _digits(te.floordiv(i[0], data.shape[0]), self.block_shape),
                te.floormod(i[0], data.shape[0]),
            )
            indices, inside = [batch], []
            for k in range(n):
                before, after = self.paddings[k]
                place = i[k + 1] * self.block_shape[k] + digits[k] - before
                inside += [place >= 0] if before else []
                inside += [place < data.shape[k + 1]] if after else []
                indices.append(place)
            value = data[(*indices, *i[n + 1 :])]
            return te.if_then_else(te.all(*inside), value, te.const(self.pad_value, data.dtype)) if inside else value

        return te.compute(out_type.shape, element, name="space_to_batch_nd", tag="injective")


def _digits(number: Any, bases: Sequence[int]) -> list[Any]:
    """The mixed-radix digits of an index expression, the most significant first."""
    digits: list[Any] = []
    for k in range(len(bases) - 1, 0, -1):
        digits.insert(0, te.floormod(number, bases[k]))
        number = te.floordiv(number, bases[k])
    return [number, *digits]


@operator("nn.batch_to_space_nd", "data", pattern=Pattern.INJECTIVE, attrs="BatchToSpaceNDAttrs", level=5)
@dataclass(frozen=True)
class BatchToSpaceND(Operator):
    """Undoes `nn.space_to_batch_nd`; `crops` is cut off the axes behind the first.

    What the block does not divide of the batch is dropped.
    """

    block_shape: tuple[int, ...] = (1, 1)
    crops: tuple[tuple[int, ...], ...] = field(kw_only=True)

    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype; axis 0 divided by all blocks, the next axes times theirs, less the crops."""
        data = tensor(types[0])
        if data is None:
            return None
        _pairs(self.crops, self.block_shape, len(data.shape), "crops")
        shape = list(data.shape)
        shape[0] = floordiv(shape[0], math.prod(self.block_shape))
        for i, (block, pair) in enumerate(zip(self.block_shape, self.crops, strict=True), 1):
            left = sub(mul(shape[i], block), sum(pair))
            if (isinstance(left, int) and left < 1) or min(pair) < 0:
                raise RelationError(f"axis {i} is {mul(shape[i], block)} and cannot be cropped by {list(pair)}")
            shape[i] = left
        return TensorType(tuple(shape), data.dtype)

    def evaluate(self, data: Any) -> Any:
        n = len(self.block_shape)
        batch = data.shape[0] // math.prod(self.block_shape)
        whole_blocks = data[: batch * math.prod(self.block_shape)]
        parts = whole_blocks.reshape([*self.block_shape, batch, *data.shape[1:]])
        order = [n]
        for k in range(n):
            order += [n + 1 + k, k]
        order += range(2 * n + 1, parts.ndim)
        whole = [d * b for d, b in zip(data.shape[1:], self.block_shape, strict=False)]
        out = parts.transpose(order).reshape([batch, *whole, *data.shape[n + 1 :]])
        cut = [slice(b, d - e) for d, (b, e) in zip(whole, self.crops, strict=True)]
        return out[(slice(None), *cut)]

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (data,) = inputs
        batch = out_type.shape[0]

        def element(*i: Any) -> Any:
            block: Any = 0
            indices = []
            for k, size in enumerate(self.block_shape):
                place = i[k + 1] + self.crops[k][0]
                block = block * size + te.floormod(place, size)
                indices.append(te.floordiv(place, size))
            return data[(block * batch + i[0], *indices, *i[len(self.block_shape) + 1 :])]

        return te.compute(out_type.shape, element, name="batch_to_space_nd", tag="injective")


def _nchw(layout: str) -> Layout:
    """The layout as a plain order of N, C, H and W; RelationError where it is another."""
    parsed = Layout.parse(layout)
    if sorted(parsed.name) != sorted("NCHW"):
        raise RelationError(f'layout is "{layout}"; it must be an order of N, C, H and W')
    return parsed


@operator("nn.depth_to_space", "data", pattern=Pattern.INJECTIVE, attrs="SubPixelAttrs", level=5)
@dataclass(frozen=True)
class DepthToSpace(Operator):
    """Channels become blocks of `block_size` by `block_size` pixels.

    In mode `DCR` a block's pixel is the outer part of the channel index, in `CDR` (any other name) the inner one.
    """

    precision = "follow"
    integer_form = "same"

    block_size: int = 1
    layout: str = "NCHW"
    mode: str = "DCR"

    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype; channels divided by `block_size ** 2`, height and width times `block_size`."""
        data = tensor(types[0])
        if data is None:
            return None
        _require_block(self.block_size)
        n, c, h, w = convert_shape(data.shape, _nchw(self.layout), "NCHW")
        b = self.block_size
        return TensorType(convert_shape((n, floordiv(c, b * b), mul(h, b), mul(w, b)), "NCHW", self.layout), data.dtype)

    def evaluate(self, data: Any) -> Any:
        x = convert(data, self.layout, "NCHW")
        n, c, h, w = x.shape
        b = self.block_size
        depth = c // (b * b)
        x = x[:, : depth * b * b]
        if self.mode == "DCR":
            x = x.reshape(n, b, b, depth, h, w).transpose(0, 3, 4, 1, 5, 2)
        else:
            x = x.reshape(n, depth, b, b, h, w).transpose(0, 1, 4, 2, 5, 3)
        return convert(x.reshape(n, depth, h * b, w * b), "NCHW", self.layout)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (data,) = inputs
        layout = _nchw(self.layout)
        b = self.block_size
        depth = out_type.shape[layout.index("C")]

        def element(*i: Any) -> Any:
            c, y, x = (i[layout.index(letter)] for letter in "CHW")
            pixel = te.floormod(y, b) * b + te.floormod(x, b)
            channel = pixel * depth + c if self.mode == "DCR" else c * (b * b) + pixel
            indices = {"N": i[layout.index("N")], "C": channel, "H": te.floordiv(y, b), "W": te.floordiv(x, b)}
            return data[tuple(indices[a.letter] for a in layout.axes)]

        return te.compute(out_type.shape, element, name="depth_to_space", tag="injective")


@operator("nn.space_to_depth", "data", pattern=Pattern.INJECTIVE, attrs="SubPixelAttrs", level=5)
@dataclass(frozen=True)
class SpaceToDepth(Operator):
    """Blocks of `block_size` by `block_size` pixels become channels, the pixel being the outer part of the index."""

    block_size: int = 1
    layout: str = "NCHW"
    mode: str = "DCR"

    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype; channels times `block_size ** 2`, height and width divided by `block_size`."""
        data = tensor(types[0])
        if data is None:
            return None
        _require_block(self.block_size)
        n, c, h, w = convert_shape(data.shape, _nchw(self.layout), "NCHW")
        b = self.block_size
        return TensorType(
            convert_shape((n, mul(c, b * b), floordiv(h, b), floordiv(w, b)), "NCHW", self.layout), data.dtype
        )

    def evaluate(self, data: Any) -> Any:
        x = convert(data, self.layout, "NCHW")
        b = self.block_size
        n, c, h, w = x.shape[0], x.shape[1], x.shape[2] // b, x.shape[3] // b
        x = x[:, :, : h * b, : w * b].reshape(n, c, h, b, w, b).transpose(0, 3, 5, 1, 2, 4)
        return convert(x.reshape(n, c * b * b, h, w), "NCHW", self.layout)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (data,) = inputs
        layout = _nchw(self.layout)
        b = self.block_size
        channels = data.shape[layout.index("C")]

        def element(*i: Any) -> Any:
            c, y, x = (i[layout.index(letter)] for letter in "CHW")
            pixel = te.floordiv(c, channels)
            indices = {
                "N": i[layout.index("N")],
                "C": te.floormod(c, channels),
                "H": y * b + te.floordiv(pixel, b),
                "W": x * b + te.floormod(pixel, b),
            }
            return data[tuple(indices[a.letter] for a in layout.axes)]

        return te.compute(out_type.shape, element, name="space_to_depth", tag="injective")


def _require_block(size: int) -> None:
    if size < 1:
        raise RelationError(f"block_size is {size}; it must be positive")
