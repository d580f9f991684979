"""`nn.dilate` puts gaps between elements, `nn.fifo_buffer` shifts elements through, `nn.bitpack` spreads bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ... import te
from ...deferred import np
from ...ir import TensorType, Type
from ...ir.dims import Dim
from ..base import DType, Operator, Pattern, RelationError, Reporter, operator
from ..conversion import convert, number_as
from ..shapes import add, floordiv, mul, normalize_axis, require_compatible, require_integers, sub, tensor


@operator("nn.dilate", "x", pattern=Pattern.INJECTIVE, attrs="DilateAttrs", level=10, declares_attrs=False)
@dataclass(frozen=True)
class Dilate(Operator):
    """`strides[i] - 1` elements of `dilation_value` inserted between neighbours along axis i."""

    strides: tuple[int, ...] = (1, 1)
    dilation_value: float = 0.0

    one_dtype = ("x", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype; each extent d becomes `(d - 1) * stride + 1`."""
        x = tensor(types[0])
        if x is None:
            return None
        if len(self.strides) != len(x.shape):
            raise RelationError(f"strides has {len(self.strides)} elements, but the tensor has rank {len(x.shape)}")
        if any(s < 1 for s in self.strides):
            raise RelationError(f"strides {list(self.strides)} must be positive")
        shape = [d if d == 0 else add(mul(sub(d, 1), s), 1) for d, s in zip(x.shape, self.strides, strict=True)]
        return TensorType(tuple(shape), x.dtype)

    def evaluate(self, x: Any) -> Any:
        shape = [max((d - 1) * s + 1, 0) for d, s in zip(x.shape, self.strides, strict=True)]
        out = np.full(shape, number_as(self.dilation_value, x.dtype))
        out[tuple(slice(None, None, s) for s in self.strides)] = x
        return out

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (x,) = inputs

        def element(*i: Any) -> Any:
            on_grid = [te.floormod(k, s).equal(0) for k, s in zip(i, self.strides, strict=True) if s != 1]
            value = x[tuple(k if s == 1 else te.floordiv(k, s) for k, s in zip(i, self.strides, strict=True))]
            return (
                te.if_then_else(te.all(*on_grid), value, te.const(self.dilation_value, x.dtype)) if on_grid else value
            )

        return te.compute(out_type.shape, element, name="dilate", tag="injective,dilate")


@operator("nn.fifo_buffer", "data", "buffer", pattern=Pattern.OPAQUE, attrs="FIFOBufferAttrs", level=3)
@dataclass(frozen=True)
class FIFOBuffer(Operator):
    """`buffer` with `data` appended along `axis` and the same number of elements dropped at the front."""

    axis: int = 0

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The type of the buffer; the data agree with it but along `axis`, where they are not longer."""
        data, buffer = tensor(types[0], "data"), tensor(types[1], "buffer")
        if data is None or buffer is None:
            return None
        if len(data.shape) != len(buffer.shape):
            raise RelationError(f"data has rank {len(data.shape)}, but buffer has rank {len(buffer.shape)}")
        axis = normalize_axis(self.axis, len(buffer.shape))
        for i, (d, b) in enumerate(zip(data.shape, buffer.shape, strict=True)):
            if i != axis:
                require_compatible(d, b, f"axis {i} of data and buffer")
            elif isinstance(d, int) and isinstance(b, int) and d > b:
                raise RelationError(f"axis {i} of data is {d}, more than the buffer's {b}")
        return buffer

    def evaluate(self, data: Any, buffer: Any) -> Any:
        axis = self.axis % buffer.ndim
        older = buffer[(slice(None),) * axis + (slice(data.shape[axis], None),)]
        return np.concatenate([older, convert(data, buffer.dtype)], axis)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        data, buffer = inputs
        axis = self.axis % len(buffer.shape)
        new = data.shape[axis]
        older_count = buffer.shape[axis] - new

        def element(*i: Any) -> Any:
            old = buffer[(*i[:axis], i[axis] + new, *i[axis + 1 :])]
            fresh = te.cast(data[(*i[:axis], i[axis] - older_count, *i[axis + 1 :])], buffer.dtype)
            return te.if_then_else(i[axis] < older_count, old, fresh)

        return te.compute(buffer.shape, element, name="fifo_buffer", tag="injective,fifo_buffer")


@operator("nn.bitpack", "data", pattern=Pattern.INJECTIVE, attrs="BitPackAttrs", level=2)
@dataclass(frozen=True)
class BitPack(Operator):
    """The `bits` lowest bits of each element as bit planes along `bit_axis`, packed along `pack_axis` into `pack_type`.

    The first element of a group becomes the most significant bit. `bit_axis` may be one behind the last axis.
    """

    differentiable = False

    bits: int = 1
    pack_axis: int = 1
    bit_axis: int = -1
    pack_type: DType = DType("")  # noqa: RUF009
    name: str = "BitPack"  # type: ignore[misc]  # TVM's attribute, a hint only; the operator's name is the class's

    @property
    def lanes(self) -> int:
        """Number of bits in one packed element."""
        digits = "".join(c for c in self.pack_type if c.isdigit())
        return int(digits) if digits else 0

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """`pack_type`; the packed axis divided by its bits, and an axis of `bits` planes at `bit_axis`."""
        data = tensor(types[0])
        if data is None:
            return None
        if not self.pack_type.startswith("uint") or not self.lanes:
            raise RelationError(f'pack_type is "{self.pack_type}"; it must be an unsigned integer type')
        rank = len(data.shape)
        if not 1 <= self.bits <= 64:
            raise RelationError(f"bits must be 1 to 64, not {self.bits}")
        require_integers(data, "the data")
        if not 0 <= self.pack_axis < rank:
            raise RelationError(f"pack_axis {self.pack_axis} is out of range for a tensor of rank {rank}")
        if self.bit_axis > rank:
            raise RelationError(f"bit_axis {self.bit_axis} is out of range for a tensor of rank {rank}")
        shape: list[Dim] = []
        for i, d in enumerate(data.shape):
            if i == self.bit_axis:
                shape.append(self.bits)
            shape.append(floordiv(d, self.lanes) if i == self.pack_axis else d)
        if self.bit_axis == rank:
            shape.append(self.bits)
        return TensorType(tuple(shape), self.pack_type)

    def evaluate(self, data: Any) -> Any:
        groups = data.shape[self.pack_axis] // self.lanes
        planes = []
        wide = np.moveaxis(data.astype(np.int64), self.pack_axis, -1)[..., : groups * self.lanes]
        wide = wide.reshape(*wide.shape[:-1], groups, self.lanes)
        weights = np.left_shift(np.uint64(1), np.arange(self.lanes - 1, -1, -1, dtype=np.uint64))
        for b in range(self.bits):
            plane = ((wide >> b) & 1).astype(np.uint64) * weights
            planes.append(np.moveaxis(plane.sum(-1, dtype=np.uint64), -1, self.pack_axis))
        if self.bit_axis < 0:
            return planes[0].astype(self.pack_type)
        return np.stack(planes, self.bit_axis).astype(self.pack_type)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (data,) = inputs

        def element(*i: Any) -> Any:
            source = list(i)
            plane = source.pop(self.bit_axis) if self.bit_axis >= 0 else te.const(0, "int32")
            group = source[self.pack_axis]
            packed: Any = te.const(0, self.pack_type)
            for lane in range(self.lanes):
                source[self.pack_axis] = group * self.lanes + lane
                value = te.cast(data[tuple(source)], "int64")
                bit = (value >> te.cast(plane, "int64")) & te.const(1, "int64")
                packed = (packed << te.const(1, self.pack_type)) | te.cast(bit, self.pack_type)
            return packed

        return te.compute(out_type.shape, element, name="bitpack", tag="injective")
