"""Pooling over windows: maximum and mean, over one, two and three spatial axes, in every layout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ... import te
from ...deferred import np
from ...ir import TensorType, Type
from ...ir.dims import ANY, Dim
from ..base import Operator, Pattern, RelationError, Reporter, operator
from ..layout import Layout, LayoutError
from ..partial import meet_dims, window_input
from ..shape.partly_known import same_axes
from ..shapes import add, require_numbers, sub, tensor
from .geometry import dilated, pad_amounts, per_axis, positions, reached
from .pool_reference import average_windows, max_windows
from .window_expression import least, pooled, quotient, window_count


def spatial_axes(name: str, letters: str, rank: int) -> list[int]:
    """Positions of the axes `letters` in the layout of that name; RelationError if one is missing or split."""
    try:
        layout = Layout.parse(name)
    except LayoutError as error:
        raise RelationError(str(error)) from None
    for letter in letters:
        if letter not in layout or letter.lower() in layout:
            raise RelationError(f'layout "{name}" must have {", ".join(letters)}, and none of them split')
    axes = [layout.index(letter) for letter in letters]
    if max(axes) >= rank:
        raise RelationError(f'a tensor of rank {rank} does not have the layout "{name}"')
    return axes


class Pool(Operator):
    """The common part of all window pooling. `letters` are the spatial axes."""

    precision = "follow"
    layout_rule = "pooling"

    letters: ClassVar[str]
    average: ClassVar[bool] = False
    pool_size: tuple[int, ...]
    strides: tuple[int, ...]
    dilation: tuple[int, ...]
    padding: tuple[int, ...]
    layout: str
    out_layout: str
    ceil_mode: bool

    one_dtype = ("data", "result")

    @property
    def rank(self) -> int:
        """Number of spatial axes."""
        return len(self.letters)

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """The data's type; spatial extents are the numbers of window positions, rounded up with `ceil_mode`."""
        data = tensor(types[0], "the data")
        if data is None:
            return None
        if self.average:
            require_numbers(data, "the data")
        axes = spatial_axes(self.layout, self.letters, len(data.shape))
        shape = list(data.shape)
        for axis, extent in zip(axes, self.extents([shape[a] for a in axes]), strict=True):
            shape[axis] = extent
        return TensorType(tuple(shape), data.dtype)

    def deduce_shapes(self, args: Sequence[Any], out: Any) -> tuple[list[Any], Any]:
        known = args[0] if args[0] is not None else out
        if known is None:
            return list(args), out
        axes = spatial_axes(self.layout, self.letters, len(known))
        (data,), out = same_axes(args[0], out, [i for i in range(len(known)) if i not in axes])
        pads = pad_amounts(self.padding, len(axes))
        size = list(data)
        for i, axis in enumerate(axes):
            reach = dilated(self.pool_size[i % len(self.pool_size)], self.dilation[i % len(self.dilation)])
            back = window_input(out[axis], reach, self.strides[i % len(self.strides)], pads[i])
            size[axis] = meet_dims(size[axis], back)
        return [tuple(size)], out

    def extents(self, sizes: Sequence[Dim]) -> list[Dim]:
        """Number of window positions along spatial axes of these sizes."""
        pads = pad_amounts(self.padding, self.rank)
        strides = per_axis(self.strides, self.rank, "strides")
        kernel = per_axis(self.pool_size, self.rank, "pool_size")
        dilation = per_axis(self.dilation, self.rank, "dilation")
        dims: list[Dim] = []
        for size, pad, k, d, s in zip(sizes, pads, kernel, dilation, strides, strict=True):
            if size is ANY:
                dims.append(ANY)
                continue
            total = add(add(*pad), sub(s, 1)) if self.ceil_mode else add(*pad)
            dims.append(positions(size, total, dilated(k, d), s))
        return dims

    def evaluate(self, data: np.ndarray) -> np.ndarray:
        axes = spatial_axes(self.layout, self.letters, data.ndim)
        last = list(range(data.ndim - self.rank, data.ndim))
        x = np.moveaxis(data, axes, last)
        out = self.extents(x.shape[data.ndim - self.rank :])
        if any(isinstance(o, int) and o < 0 for o in out):
            raise ValueError(f"windows of {self.pool_size} do not fit into data of shape {data.shape}")
        pads = pad_amounts(self.padding, self.rank)
        extra = [s - 1 if self.ceil_mode else 0 for s in self.strides]
        if self.average:
            with_padding = getattr(self, "count_include_pad", False)
            y = average_windows(x, self.pool_size, self.strides, pads, self.dilation, out, extra, with_padding)  # type: ignore[arg-type]  # of an array, whose extents are numbers
        else:
            reached = [(before, after + e) for (before, after), e in zip(pads, extra, strict=True)]
            y = max_windows(x, self.pool_size, self.strides, reached, self.dilation, out)  # type: ignore[arg-type]  # of an array, whose extents are numbers
        return np.ascontiguousarray(np.moveaxis(y, last, axes))

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (x,) = inputs
        axes = spatial_axes(self.layout, self.letters, x.ndim)
        pads: Any = pad_amounts(self.padding, self.rank)
        sizes, out = ([shape[a] for a in axes] for shape in (x.shape, out_type.shape))
        ends = reached(sizes, out, self.pool_size, self.strides, self.dilation, pads)
        if not self.average:
            return pooled(
                x, axes, self.pool_size, self.strides, ends, self.dilation, out_type.shape, lowest=least(x.dtype)
            )
        total = pooled(x, axes, self.pool_size, self.strides, ends, self.dilation, out_type.shape)
        with_padding = getattr(self, "count_include_pad", False)

        def mean(*i: Any) -> Any:
            count: Any = 1
            for j, axis in enumerate(axes):
                size, k, s, d = x.shape[axis], self.pool_size[j], self.strides[j], self.dilation[j]
                if ends[j] == (0, 0) or (with_padding and ends[j][1] <= pads[j][1]):
                    count = count * k
                else:
                    count = count * window_count(i[axis], size, k, s, pads[j], d, with_padding)
            return quotient(total[i], count if isinstance(count, int) else te.maximum(count, 1), x.dtype)

        return te.compute(out_type.shape, mean, name="mean", tag="elemwise")


@operator("nn.max_pool1d", "data", pattern=Pattern.OUT_ELEMWISE_FUSABLE, attrs="MaxPool1DAttrs", level=2)
@dataclass(frozen=True)
class MaxPool1D(Pool):
    """The largest element of each window along `W`."""

    letters = "W"
    pool_size: tuple[int, ...]
    strides: tuple[int, ...] = (1,)
    dilation: tuple[int, ...] = (1,)
    padding: tuple[int, ...] = (0,)
    layout: str = "NCW"
    out_layout: str = ""
    ceil_mode: bool = False


@operator("nn.avg_pool1d", "data", pattern=Pattern.OUT_ELEMWISE_FUSABLE, attrs="AvgPool1DAttrs", level=2)
@dataclass(frozen=True)
class AvgPool1D(Pool):
    """The mean of each window along `W`; padding counts only with `count_include_pad`."""

    letters = "W"
    average = True
    pool_size: tuple[int, ...]
    strides: tuple[int, ...] = (1,)
    dilation: tuple[int, ...] = (1,)
    padding: tuple[int, ...] = (0,)
    layout: str = "NCW"
    out_layout: str = ""
    ceil_mode: bool = False
    count_include_pad: bool = False


@operator("nn.max_pool2d", "data", pattern=Pattern.OUT_ELEMWISE_FUSABLE, attrs="MaxPool2DAttrs", level=2)
@dataclass(frozen=True)
class MaxPool2D(Pool):
    """The largest element of each window over `H` and `W`."""

    integer_form = "same"

    letters = "HW"
    pool_size: tuple[int, ...]
    strides: tuple[int, ...] = (1, 1)
    dilation: tuple[int, ...] = (1, 1)
    padding: tuple[int, ...] = (0, 0)
    layout: str = "NCHW"
    out_layout: str = ""
    ceil_mode: bool = False


@operator("nn.avg_pool2d", "data", pattern=Pattern.OUT_ELEMWISE_FUSABLE, attrs="AvgPool2DAttrs", level=2)
@dataclass(frozen=True)
class AvgPool2D(Pool):
    """The mean of each window over `H` and `W`; padding counts only with `count_include_pad`."""

    letters = "HW"
    average = True
    pool_size: tuple[int, ...]
    strides: tuple[int, ...] = (1, 1)
    dilation: tuple[int, ...] = (1, 1)
    padding: tuple[int, ...] = (0, 0)
    layout: str = "NCHW"
    out_layout: str = ""
    ceil_mode: bool = False
    count_include_pad: bool = False


@operator("nn.max_pool3d", "data", pattern=Pattern.OUT_ELEMWISE_FUSABLE, attrs="MaxPool3DAttrs", level=2)
@dataclass(frozen=True)
class MaxPool3D(Pool):
    """The largest element of each window over `D`, `H` and `W`."""

    letters = "DHW"
    pool_size: tuple[int, ...]
    strides: tuple[int, ...] = (1, 1, 1)
    dilation: tuple[int, ...] = (1, 1, 1)
    padding: tuple[int, ...] = (0, 0, 0)
    layout: str = "NCDHW"
    out_layout: str = ""
    ceil_mode: bool = False


@operator("nn.avg_pool3d", "data", pattern=Pattern.OUT_ELEMWISE_FUSABLE, attrs="AvgPool3DAttrs", level=2)
@dataclass(frozen=True)
class AvgPool3D(Pool):
    """The mean of each window over `D`, `H` and `W`; padding counts only with `count_include_pad`."""

    letters = "DHW"
    average = True
    pool_size: tuple[int, ...]
    strides: tuple[int, ...] = (1, 1, 1)
    dilation: tuple[int, ...] = (1, 1, 1)
    padding: tuple[int, ...] = (0, 0, 0)
    layout: str = "NCDHW"
    out_layout: str = ""
    ceil_mode: bool = False
    count_include_pad: bool = False
