"""Cumulative operators: each element of the result combines all elements up to its place along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from .. import te
from ..deferred import late, np
from ..ir import TensorType, Type
from .base import VOID, DType, Operator, Pattern, Reporter, operator
from .conversion import convert
from .rows import rows
from .shapes import normalize_axis, product, tensor


class _Scan(Operator):
    """Base: along `axis`, or over the flattened tensor where there is none; `exclusive` leaves out the element itself."""

    axis: Any
    dtype: Any
    exclusive: Any
    identity: ClassVar[int]
    accumulate: ClassVar[Any]

    dtype_attribute = "dtype"
    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's shape, or a vector of all elements without `axis`; the dtype is `dtype` or the data's."""
        x = tensor(types[0])
        if x is None:
            return None
        dtype = self.dtype or x.dtype
        if self.axis is not None:
            normalize_axis(self.axis, len(x.shape))
            return TensorType(x.shape, dtype)
        return TensorType((product(x.shape),), dtype)

    def evaluate(self, x: np.ndarray) -> np.ndarray:
        wide = convert(x, self.dtype or x.dtype)
        if self.axis is None:
            wide = wide.reshape(-1)
        axis = normalize_axis(self.axis or 0, wide.ndim)
        with np.errstate(all="ignore"):
            if not self.exclusive:
                return self.accumulate(wide, axis=axis, dtype=wide.dtype)
            shifted = np.empty_like(wide)
            along = [slice(None)] * wide.ndim
            if wide.shape[axis]:
                along[axis] = slice(0, 1)
                shifted[tuple(along)] = self.identity
            first, last = list(along), list(along)
            first[axis], last[axis] = slice(1, None), slice(None, -1)
            shifted[tuple(first)] = self.accumulate(wide[tuple(last)], axis=axis, dtype=wide.dtype)
            return shifted

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (x,) = inputs
        shape = out_type.shape
        axis = normalize_axis(self.axis or 0, len(shape))

        def source(ins: Any, index: Sequence[Any]) -> Any:
            if self.axis is not None:
                return ins[tuple(index)]
            rest, full = index[0], []
            for extent in reversed(x.shape):
                full.append(te.floormod(rest, extent))
                rest = te.floordiv(rest, extent)
            return ins[tuple(reversed(full))]

        def fill(ib: Any, ins: Sequence[Any], outs: Sequence[Any]) -> None:
            with rows(ib, shape, axis) as row:
                total = ib.local(out_type.dtype, te.const(self.identity, out_type.dtype))
                with ib.for_(shape[axis]) as i:
                    value = te.cast(source(ins[0], row(i)), out_type.dtype)
                    both = total.get() + value if self.identity == 0 else total.get() * value
                    if self.exclusive:
                        ib.store(outs[0], row(i), total.get())
                    total.set(both)
                    if not self.exclusive:
                        ib.store(outs[0], row(i), total.get())

        return te.extern(shape, [x], fill, dtype=out_type.dtype, name=self.name)


@operator("cumsum", "data", pattern=Pattern.OPAQUE, attrs="ScanopAttrs", level=3, declares_attrs=False)
@dataclass(frozen=True)
class Cumsum(_Scan):
    """The sum of all elements up to each one, along `axis` or over the flattened tensor.

    With `exclusive`, the sum of those before it. `dtype` is the type of the result and of the running sum.
    """

    axis: int | None = None
    dtype: DType = VOID
    exclusive: bool = False
    identity = 0
    accumulate = staticmethod(late.cumsum)


@operator("cumprod", "data", pattern=Pattern.OPAQUE, attrs="ScanopAttrs", level=3, declares_attrs=False)
@dataclass(frozen=True)
class Cumprod(_Scan):
    """The product of all elements up to each one, along `axis` or over the flattened tensor.

    With `exclusive`, the product of those before it. `dtype` is the type of the result and of the running product.
    """

    axis: int | None = None
    dtype: DType = VOID
    exclusive: bool = False
    identity = 1
    accumulate = staticmethod(late.cumprod)
