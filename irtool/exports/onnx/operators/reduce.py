"""Reductions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from ..dtypes import is_float
from ..form import Form, decomposed, row
from ..graph import Value
from ..site import OnnxSite


def reduced_axes(s: OnnxSite) -> list[int]:
    """The axes that a reduction is over, in order."""
    return list(s.attrs.removed(len(s.tensor(0).shape)))


@dataclass(frozen=True)
class Reduce(Form):
    """The node of the same meaning; of truth values on integers."""

    node: str
    to_bool: bool = False

    direct: ClassVar[bool] = True

    @property
    def becomes(self) -> str:
        return f"`{self.node}` of the truth values as integers" if self.to_bool else f"`{self.node}`"

    def emit(self, s: OnnxSite) -> Any:
        x = s.inputs[0]
        if self.to_bool or x.dtype == "bool":
            x = s.cast(s.cast(x, "bool"), "int32")
        reduced = s.reduce(self.node, x, reduced_axes(s), s.attrs.keepdims)
        return s.cast(reduced, s.out.dtype)


row(Reduce("ReduceSum"), "sum")
row(Reduce("ReduceProd"), "prod")
row(Reduce("ReduceMax"), "max")
row(Reduce("ReduceMin"), "min")
row(Reduce("ReduceMin", to_bool=True), "all")
row(Reduce("ReduceMax", to_bool=True), "any")


@dataclass(frozen=True)
class Mean(Form):
    """`ReduceMean`; of integers `ReduceSum` divided by the count"""

    direct: ClassVar[bool] = True
    differs: ClassVar[str] = "truth values have no form"

    def emit(self, s: OnnxSite) -> Any:
        (x,) = s.inputs
        axes = reduced_axes(s)
        if is_float(x.dtype):
            return s.reduce("ReduceMean", x, axes, s.attrs.keepdims)
        if x.dtype == "bool":
            s.refuse("of truth values it is no number")
        wide = s.cast(x, "int64" if x.dtype in ("int64", "uint64", "uint32") else "int32")
        total = s.reduce("ReduceSum", wide, axes, s.attrs.keepdims)
        narrow = s.cast(s.cast(total, x.dtype), wide.dtype)
        return s.cast(s.div(narrow, s.cast(count_of(s, x, axes), wide.dtype)), x.dtype)


row(Mean(), "mean")


@dataclass(frozen=True)
class ArgExtreme(Form):
    """`ArgMax` or `ArgMin` of the reduced axes, merged into one if they are several."""

    node: str

    direct: ClassVar[bool] = True

    @property
    def becomes(self) -> str:
        return f"`{self.node}`, several axes merged into one"

    def emit(self, s: OnnxSite) -> Any:
        (x,) = s.inputs
        axes = reduced_axes(s)
        rank = len(s.tensor(0).shape)
        x = s.cast(x, "int32") if x.dtype == "bool" else x
        if not axes:  # nothing is reduced: as in TVM, the elements themselves
            return s.cast(x, s.out.dtype)
        last = int(bool(s.attrs.select_last_index))
        if len(axes) == 1:
            positions = s.node(
                self.node,
                x,
                dtype="int64",
                axis=axes[0],
                keepdims=int(s.attrs.keepdims),
                select_last_index=last or None,
            )
            return s.cast(positions, s.out.dtype)
        outer_axes = [a for a in range(rank) if a not in axes]
        extents = s.concat([s.node("Gather", s.shape(x), s.ints(*outer_axes), axis=0), s.ints(-1)], 0)
        if s.tensor(0).is_static:
            extents = s.ints(*(s.dims(0)[a] for a in outer_axes), -1)
        merged = s.node("Reshape", s.transpose(x, outer_axes + axes), extents)
        positions = s.node(
            self.node, merged, dtype="int64", axis=len(outer_axes), keepdims=0, select_last_index=last or None
        )
        if s.attrs.keepdims:
            positions = s.unsqueeze(positions, *axes)
        return s.cast(positions, s.out.dtype)


row(ArgExtreme("ArgMax"), "argmax")
row(ArgExtreme("ArgMin"), "argmin")


@decomposed("`Sub`, `Mul`, `ReduceMean`; with `unbiased` `ReduceSum`, `Div`", "variance")
def variance(s: OnnxSite) -> Value:
    x, mean = s.inputs
    axes = reduced_axes(s)
    difference = s.sub(x, mean)
    square = s.mul(difference, difference)
    if not s.attrs.unbiased:
        return s.reduce("ReduceMean", square, axes, s.attrs.keepdims)
    fewer = s.sub(count_of(s, x, axes), s.constant(1, "int64"))
    return s.div(s.reduce("ReduceSum", square, axes, s.attrs.keepdims), s.cast(fewer, x.dtype))


def count_of(s: OnnxSite, x: Value, axes: list[int]) -> Value:
    """The number of elements that are combined to one, as int64."""
    extents = [s.tensor(0).shape[a] for a in axes]
    known = [int(d) for d in extents if isinstance(d, int)]
    if len(known) == len(extents):
        return s.constant(math.prod(known), "int64")
    return s.node("ReduceProd", s.node("Gather", s.shape(x), s.ints(*axes), axis=0), keepdims=0)
