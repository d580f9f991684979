"""Cumulative operators: each element of the result combines all elements up to its place along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from .. import te
from ..deferred import np
from ..ir import TensorType, Type
from ..symbolic_int import is_known
from ..tir.dtypes import accumulator_dtype
from .base import VOID, DType, Operator, Pattern, Reporter, operator
from .conversion import convert
from .dtypes import is_float
from .rows import rows
from .running_sums import Lane, add_up, running_sum
from .shapes import normalize_axis, product, tensor

_LONG = 32
"""Elements of a row that several are accumulated side by side of: of 16, they take half as long again."""


class _Scan(Operator):
    """Base: along `axis`, or over the flattened tensor if it is None; `exclusive` leaves out the element itself."""

    axis: Any
    dtype: Any
    exclusive: Any
    identity: ClassVar[int]

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
        result = wide.dtype
        if self.axis is None:
            wide = wide.reshape(-1)
        axis = normalize_axis(self.axis or 0, wide.ndim)
        rows = np.moveaxis(convert(wide, accumulator_dtype(wide.dtype.name)), axis, -1)
        with np.errstate(all="ignore"):
            done = self.accumulated(rows)
            if self.exclusive:
                done[..., :1] = self.identity
            return np.ascontiguousarray(np.moveaxis(convert(done, result), -1, axis))

    def accumulated(self, rows: np.ndarray) -> np.ndarray:
        """All elements up to each one, or those before it if `exclusive`, combined along the last axis."""
        raise NotImplementedError

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

        wide = accumulator_dtype(out_type.dtype)
        together = _rows_together(shape, axis, wide)

        def fill(ib: Any, ins: Sequence[Any], outs: Sequence[Any]) -> None:
            blocks = shape if together == 1 else (*shape[:-2], shape[-2] // together, shape[-1])
            with rows(ib, blocks, axis) as row:

                def index(lane: int, i: Any) -> tuple[Any, ...]:
                    if together == 1:
                        return row(i)
                    *outer, block, i = row(i)
                    return (*outer, block * together + lane, i)

                def element(lane: int, i: Any) -> Any:
                    return te.cast(te.cast(source(ins[0], index(lane, i)), out_type.dtype), wide)

                def store(lane: int, i: Any, value: Any) -> None:
                    if self.exclusive:
                        value = te.if_then_else(te.as_expr(i).equal(0), te.const(self.identity, wide), value)
                    ib.store(outs[0], index(lane, i), value)

                lanes = [(partial(element, lane), partial(store, lane)) for lane in range(together)]
                self.accumulate(ib, shape[axis], wide, lanes)

        return te.extern(shape, [x], fill, dtype=out_type.dtype, name=self.name)

    def accumulate(self, ib: Any, extent: Any, dtype: str, lanes: Sequence[Lane]) -> None:
        """Writes the loop along the axis of some rows, in `dtype`: of each, `store(i, value)` takes a result, `element(i)` gives an operand."""
        raise NotImplementedError


def _rows_together(shape: Sequence[Any], axis: int, dtype: str) -> int:
    """Rows that are accumulated side by side: the latency of a float's sum hides behind those of the others. Compilers write short rows out."""
    if not is_float(dtype) or axis + 1 < len(shape) or len(shape) < 2 or not all(map(is_known, shape[-2:])):
        return 1
    return next(n for n in (4, 2, 1) if shape[-2] % n == 0) if shape[-1] >= _LONG else 1


@operator("cumsum", "data", pattern=Pattern.OPAQUE, attrs="ScanopAttrs", level=3, declares_attrs=False)
@dataclass(frozen=True)
class Cumsum(_Scan):
    """The sum of all elements up to each one, along `axis` or over the flattened tensor.

    With `exclusive`, the sum of those before it. `dtype` is the type of the result and of the running sum, which is in float32 for
    16-bit floats. Sums of many floats are made in blocks, so that errors do not grow with the length of the axis.
    """

    axis: int | None = None
    dtype: DType = VOID
    exclusive: bool = False
    identity = 0

    def accumulated(self, rows: np.ndarray) -> np.ndarray:
        return running_sum(rows, self.exclusive)

    def accumulate(self, ib: Any, extent: Any, dtype: str, lanes: Sequence[Lane]) -> None:
        add_up(ib, extent, dtype, lanes, self.exclusive)


@operator("cumprod", "data", pattern=Pattern.OPAQUE, attrs="ScanopAttrs", level=3, declares_attrs=False)
@dataclass(frozen=True)
class Cumprod(_Scan):
    """The product of all elements up to each one, along `axis` or over the flattened tensor.

    With `exclusive`, the product of those before it. `dtype` is the type of the result and of the running product, which is in
    float32 for 16-bit floats.
    """

    axis: int | None = None
    dtype: DType = VOID
    exclusive: bool = False
    identity = 1

    def accumulated(self, rows: np.ndarray) -> np.ndarray:
        products = np.cumprod(rows, axis=-1, dtype=rows.dtype)
        if self.exclusive:
            products[..., 1:] = products[..., :-1].copy()
        return products

    def accumulate(self, ib: Any, extent: Any, dtype: str, lanes: Sequence[Lane]) -> None:
        products = [ib.local(dtype, te.const(1, dtype)) for _ in lanes]
        with ib.for_(extent) as i:
            for product, (element, store) in zip(products, lanes, strict=True):
                before = ib.let(product.get()) if self.exclusive else None
                product.set(product.get() * element(i))
                store(i, before if self.exclusive else product.get())
