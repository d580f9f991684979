"""Operators that put a border round a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import le
from typing import Any

from ... import te
from ...deferred import np
from ...diagnostics import IrError
from ...ir import TensorType, Type
from ...ir.dims import Dim
from ...symbolic_int import holds
from ..base import Operator, Pattern, RelationError, Reporter, operator
from ..conversion import convert
from ..shapes import add, require_scalar, tensor
from .partly_known import padded_known

Widths = tuple[tuple[int, ...], ...]


def padded_shape(shape: Sequence[Dim], widths: Widths) -> tuple[Dim, ...]:
    """The shape with each pair (before, after) of `widths` added. RelationError where they do not fit it."""
    if len(widths) != len(shape):
        raise RelationError(f"pad_width has {len(widths)} pairs, but the tensor has rank {len(shape)}")
    out: list[Dim] = []
    for i, (d, pair) in enumerate(zip(shape, widths, strict=True)):
        if len(pair) != 2:
            raise RelationError(f"pad_width of axis {i} has {len(pair)} numbers; it must have 2, before and after")
        whole = add(d, pair[0] + pair[1])
        if isinstance(whole, int) and whole < 0:
            raise RelationError(f"axis {i} would be {whole} after padding: it is {d}, and the widths are {list(pair)}")
        out.append(whole)
    return tuple(out)


def border_source(position: Any, extent: int, mode: str) -> Any:
    """The index that a position in or beyond a numpy axis of `extent` is copied from, in that mode."""
    last = max(extent - 1, 0)
    if mode == "reflect":
        position = np.where(position < 0, -position, np.where(position > last, 2 * last - position, position))
    elif mode == "symmetric":
        position = np.where(position < 0, -position - 1, np.where(position > last, 2 * last + 1 - position, position))
    return np.clip(position, 0, last)


def require_pad_mode(mode: str) -> None:
    """Raises RelationError for an unknown mode."""
    if mode not in ("constant", "edge", "reflect"):
        raise RelationError(f'pad_mode is "{mode}"; it can be "constant", "edge" or "reflect"')


def _nothing_to_copy(axis: int) -> str:
    return f"axis {axis} is empty: there is no element to fill its border with"


def pad_array(data: Any, widths: Widths, mode: str, value: Any = 0) -> Any:
    """The numpy array with a border; a negative width cuts."""
    out = data
    for axis, (before, after) in enumerate(widths):
        if not before and not after:
            continue
        extent = out.shape[axis]
        position = np.arange(-before, extent + after)
        padded = np.take(out, border_source(position, extent, mode), axis) if extent else None
        if mode == "constant":
            shape = [position.size if a == axis else d for a, d in enumerate(out.shape)]
            filled = np.full(shape, value, out.dtype)
            inside = (position >= 0) & (position < extent)
            if padded is not None:
                index = (slice(None),) * axis + (inside,)
                filled[index] = padded[index]
            padded = filled
        if padded is None:
            raise IrError(_nothing_to_copy(axis))
        out = padded
    return out


@operator("nn.pad", "data", "pad_val", pattern=Pattern.INJECTIVE, attrs="PadAttrs", level=2)
@dataclass(frozen=True)
class Pad(Operator):
    """`pad_width[i]` = (before, after) elements added around axis i; a negative width crops.

    `pad_mode` is `constant` (the border is `pad_val`), `edge` (the nearest element) or `reflect` (mirrored at the edge
    element, which is not repeated).
    """

    precision = "follow"

    pad_width: tuple[tuple[int, ...], ...]
    pad_mode: str = "constant"

    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype; each extent with both of its widths added. The value is a scalar."""
        data = tensor(types[0], "data")
        if data is None:
            return None
        require_pad_mode(self.pad_mode)
        require_scalar(tensor(types[1], "pad_value"), "pad_value")
        shape = padded_shape(data.shape, self.pad_width)
        for i, (d, pair) in enumerate(zip(data.shape, self.pad_width, strict=True)):
            if self.pad_mode != "constant" and max(pair) > 0:
                reporter.require_elements((d,), (), _nothing_to_copy(i))
        return TensorType(shape, data.dtype)

    def deduce_shapes(self, args: Sequence[Any], out: Any) -> tuple[list[Any], Any]:
        return padded_known(args, out, self.pad_width)

    def evaluate(self, data: Any, value: Any) -> Any:
        return pad_array(data, self.pad_width, self.pad_mode, convert(value, data.dtype).reshape(()))

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        data, value = inputs

        def element(*i: Any) -> Any:
            inside, indices, border = [], [], []
            for k, extent, (before, after) in zip(i, data.shape, self.pad_width, strict=True):
                position = k - before if before else k
                is_below, is_beyond = (not holds(le, width, 0) for width in (before, after))
                if is_below:
                    inside.append(position >= 0)
                if is_beyond:
                    inside.append(position < extent)
                indices.append(position)
                source = position
                if self.pad_mode == "reflect":
                    last = extent - 1
                    source = te.select(
                        position < 0, 0 - position, te.select(position > last, 2 * last - position, position)
                    )
                border.append(te.max2(te.min2(source, extent - 1), 0) if is_below or is_beyond else source)
            if not inside:
                return data[tuple(indices)]
            if self.pad_mode != "constant":
                return data[tuple(border)]
            return te.if_then_else(te.all(*inside), data[tuple(indices)], te.cast(value[()], data.dtype))

        return te.compute(out_type.shape, element, name="pad", tag="injective,pad")


@operator("nn.mirror_pad", "data", pattern=Pattern.INJECTIVE, attrs="MirrorPadAttrs", level=2)
@dataclass(frozen=True)
class MirrorPad(Operator):
    """A border mirrored at the edge: `SYMMETRIC` repeats the edge element, `REFLECT` does not."""

    mode: str = "SYMMETRIC"
    pad_width: tuple[tuple[int, ...], ...] = field(kw_only=True)

    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype; each extent with both of its widths added."""
        data = tensor(types[0])
        if data is None:
            return None
        if self.mode not in ("SYMMETRIC", "REFLECT"):
            raise RelationError(f'mode is "{self.mode}"; it can be "SYMMETRIC" or "REFLECT"')
        for i, pair in enumerate(self.pad_width):
            if any(w < 0 for w in pair):
                raise RelationError(f"pad_width of axis {i} is {list(pair)}; it must not be negative")
        shape = padded_shape(data.shape, self.pad_width)
        for i, (d, pair) in enumerate(zip(data.shape, self.pad_width, strict=True)):
            repeated = self.mode == "SYMMETRIC"
            most = d if repeated or not isinstance(d, int) else d - 1
            message = f"axis {i} is {d} and can be mirrored by {most} at most, not {max(pair)}"
            reporter.require_elements((d,), (), message, max(pair) if repeated else max(pair) + 1)
        return TensorType(shape, data.dtype)

    def deduce_shapes(self, args: Sequence[Any], out: Any) -> tuple[list[Any], Any]:
        return padded_known(args, out, self.pad_width)

    def evaluate(self, data: Any) -> Any:
        return pad_array(data, self.pad_width, self.mode.lower())

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (data,) = inputs
        again = 1 if self.mode == "SYMMETRIC" else 0

        def source(k: Any, extent: Any, pair: Sequence[int]) -> Any:
            if not any(pair):
                return k
            position = k - pair[0]
            below = te.select(position < 0, 0 - position - again, position)
            return te.select(position >= extent, 2 * (extent - 1) + again - position, below)

        return te.compute(
            out_type.shape,
            lambda *i: data[tuple(source(k, d, p) for k, d, p in zip(i, data.shape, self.pad_width, strict=True))],
            name="mirror_pad",
            tag="injective",
        )
