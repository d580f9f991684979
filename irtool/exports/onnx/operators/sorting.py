"""Sorting and scans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ..dtypes import is_float
from ..form import Absent, Form, decomposed, form, row
from ..graph import Value
from ..site import Site


@form("sort", "argsort")
@dataclass(frozen=True)
class Sort(Form):
    """`TopK` of all elements"""

    direct: ClassVar[bool] = True

    def emit(self, s: Site) -> Any:
        x = s.inputs[0]
        axis = s.axes(0, [s.attrs.axis])[0]
        values, places = top(s, x, s.tensor(0).shape[axis], axis, not s.attrs.is_ascend)
        return s.cast(places, s.out.dtype) if s.attrs.name == "argsort" else s.cast(values, s.out.dtype)


def top(s: Site, x: Value, count: Any, axis: int, largest: bool) -> tuple[Value, Value]:
    """The first elements in order, and their positions."""
    if not isinstance(count, int):
        s.refuse("the extent of the axis must be known")
    wide = x.dtype if is_float(x.dtype) or x.dtype in ("int32", "int64") else "int64"
    made = s.nodes(
        "TopK",
        2,
        s.cast(x, wide),
        s.ints(int(count)),
        dtypes=[wide, "int64"],
        axis=axis,
        largest=int(largest),
        sorted=1,
    )
    return s.cast(made[0], x.dtype), made[1]


@form("topk")
@dataclass(frozen=True)
class TopK(Form):
    """`TopK`"""

    direct: ClassVar[bool] = True

    def emit(self, s: Site) -> Any:
        at = s.attrs
        axis = s.axes(0, [at.axis])[0]
        extent = s.tensor(0).shape[axis]
        count = extent if at.k is None or at.k < 1 else min(at.k, extent) if isinstance(extent, int) else at.k
        values, places = top(s, s.inputs[0], count, axis, not at.is_ascend)
        if at.ret_type == "values":
            return values
        dtype = (s.out if at.ret_type == "indices" else s.fields[1]).dtype
        places = s.cast(places, dtype)
        return places if at.ret_type == "indices" else (values, places)


@form("cumsum")
@dataclass(frozen=True)
class CumSum(Form):
    """`CumSum`, of the flattened tensor without an axis"""

    direct: ClassVar[bool] = True

    def emit(self, s: Site) -> Any:
        x, axis = _flattened(s)
        x = s.cast(x, s.out.dtype)
        wide = "int32" if x.dtype == "bool" else x.dtype
        made = s.node("CumSum", s.cast(x, wide), s.constant(axis, "int64"), exclusive=int(bool(s.attrs.exclusive)))
        return s.cast(made, s.out.dtype)


def _flattened(s: Site) -> tuple[Value, int]:
    if s.attrs.axis is None:
        return s.reshape(s.inputs[0], [-1]), 0
    return s.inputs[0], s.axes(0, [s.attrs.axis])[0]


@decomposed("`Mul` with the tensor shifted by 1, 2, 4 … places", "cumprod")
def cumprod(s: Site) -> Value:
    x, axis = _flattened(s)
    x = s.cast(x, s.out.dtype)
    shape = s.static(s.out)
    extent, rank = shape[axis], len(shape)
    one = s.scalar(1, x)

    def shifted(v: Value, by: int) -> Value:
        pads = [0] * (2 * rank)
        pads[axis] = by
        kept = s.slice(v, [0], [max(extent - by, 0)], [axis])
        return s.node("Pad", kept, s.ints(*pads), one)

    if s.attrs.exclusive:
        x = shifted(x, 1)
    step = 1
    while step < extent:
        x = s.mul(x, shifted(x, step))
        step *= 2
    return s.node("Identity", x)


@form("unique")
@dataclass(frozen=True)
class Unique(Form):
    """`Unique`, its results padded to the length of the input as Relay has them"""

    def emit(self, s: Site) -> Any:
        x = s.inputs[0]
        wide = x.dtype if x.dtype in ("float32", "float64", "int64", "int8") else "int64"
        if not s.attrs.sorted:
            s.refuse("ONNX gives elements in the order of their first places, and TVM in another one")
        found, first, inverse, counts = s.nodes(
            "Unique", 4, s.cast(x, wide), dtypes=[wide, "int64", "int64", "int64"], sorted=int(bool(s.attrs.sorted))
        )
        fields = s.fields
        size = s.shape(found)
        made = [s.cast(found, x.dtype), s.cast(first, fields[1].dtype), s.cast(inverse, fields[2].dtype)]
        made.append(s.cast(size, fields[3].dtype))
        if len(fields) > 4:
            made.append(s.cast(counts, fields[4].dtype))
        return tuple(made)


row(Absent("the Fourier transforms of ONNX are of another form, with parts along a last axis"), "stft")


@decomposed("both parts joined along a last axis, `DFT`, the parts taken apart (from opset 20)", "dft")
def dft(s: Site) -> Any:
    real, imaginary = s.inputs
    rank = len(s.tensor(0).shape)
    s.need_opset(20, "DFT with its axis as an input")
    joined = s.node("Concat", s.unsqueeze(real, rank), s.unsqueeze(imaginary, rank), axis=rank)
    made = s.node("DFT", joined, None, s.constant(rank - 1, "int64"), inverse=int(bool(s.attrs.inverse)))
    return tuple(s.reshape(s.slice(made, [k], [k + 1], [rank]), s.dims(0)) for k in (0, 1))
