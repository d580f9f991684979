"""Pooling by the number of windows instead of their extent: adaptive pooling, and one window over everything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ...deferred import np
from ...ir import TensorType, Type
from ...ir.dims import Dim
from ..base import Operator, Pattern, RelationError, Reporter, operator
from ..partial import meet
from ..shape.partly_known import same_axes
from ..shapes import require_numbers, tensor
from .pool import spatial_axes
from .pool_reference import adaptive_windows
from .window_expression import adaptive

MOST_WINDOWS = 2**31 - 1
"""Most windows of an axis: the range of a 32-bit index."""


class GlobalPool2D(Operator):
    """One window over all of `H` and `W`."""

    layout_rule = "pooling"

    average: ClassVar[bool]
    layout: str
    out_layout: str

    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """The data's type with 1 for height and width."""
        data = tensor(types[0], "the data")
        if data is None:
            return None
        if self.average:
            require_numbers(data, "the data")
        axes = spatial_axes(self.layout, "HW", len(data.shape))
        reporter.require_elements([data.shape[a] for a in axes], (), f"there is no element to pool in {data}")
        return TensorType(tuple(1 if i in axes else d for i, d in enumerate(data.shape)), data.dtype)

    def deduce_shapes(self, args: Sequence[Any], out: Any) -> tuple[list[Any], Any]:
        known = args[0] if args[0] is not None else out
        if known is None:
            return list(args), out
        axes = spatial_axes(self.layout, "HW", len(known))
        ones = tuple(1 if i in axes else None for i in range(len(known)))
        return same_axes(args[0], meet(out, ones), [i for i in range(len(known)) if i not in axes])

    def evaluate(self, data: np.ndarray) -> np.ndarray:
        return adaptive_windows(data, spatial_axes(self.layout, "HW", data.ndim), (1, 1), self.average)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (x,) = inputs
        return adaptive(x, spatial_axes(self.layout, "HW", x.ndim), (1, 1), self.average)


@operator("nn.global_max_pool2d", "data", pattern=Pattern.OUT_ELEMWISE_FUSABLE, attrs="GlobalPool2DAttrs", level=2)
@dataclass(frozen=True)
class GlobalMaxPool2D(GlobalPool2D):
    """The largest element over `H` and `W`, which become 1."""

    precision = "follow"

    average = False
    layout: str = "NCHW"
    out_layout: str = ""


@operator("nn.global_avg_pool2d", "data", pattern=Pattern.OUT_ELEMWISE_FUSABLE, attrs="GlobalPool2DAttrs", level=2)
@dataclass(frozen=True)
class GlobalAvgPool2D(GlobalPool2D):
    """The mean over `H` and `W`, which become 1."""

    precision = "never"

    average = True
    layout: str = "NCHW"
    out_layout: str = ""


class AdaptivePool(Operator):
    """`output_size` windows along each spatial axis, as equal as they can be; window `i` of `n` over `size` elements is
    `floor(i * size / n)` to `ceil((i + 1) * size / n)`."""

    layout_rule = "pooling"

    letters: ClassVar[str]
    average: ClassVar[bool]
    output_size: tuple[int, ...] | None
    layout: str
    out_layout: str

    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TensorType | None:
        """The data's type with `output_size` for the spatial extents; without it they stay."""
        data = tensor(types[0], "the data")
        if data is None:
            return None
        if self.average:
            require_numbers(data, "the data")
        axes = spatial_axes(self.layout, self.letters, len(data.shape))
        shape = list(data.shape)
        for axis, size in zip(axes, self.sizes([shape[a] for a in axes]), strict=True):
            message = f"{size} windows cannot share axis {axis}, which has no element"
            reporter.require_elements((shape[axis],), (size,), message)
            if isinstance(size, int) and not 0 <= size <= MOST_WINDOWS:
                raise RelationError(f"output_size must be 0 to {MOST_WINDOWS}, not {size}")
            shape[axis] = size
        return TensorType(tuple(shape), data.dtype)

    def deduce_shapes(self, args: Sequence[Any], out: Any) -> tuple[list[Any], Any]:
        known = args[0] if args[0] is not None else out
        if known is None:
            return list(args), out
        axes = spatial_axes(self.layout, self.letters, len(known))
        return same_axes(args[0], out, [i for i in range(len(known)) if i not in axes])

    def sizes(self, data: Sequence[Dim]) -> Sequence[Dim]:
        """Number of windows along each axis; the data's own extents where none is given."""
        sizes = self.output_size
        if not sizes:
            return data
        if len(sizes) == 1:
            return sizes * len(self.letters)
        if len(sizes) != len(self.letters):
            raise RelationError(f"output_size has {len(sizes)} numbers; it takes up to {len(self.letters)}")
        return sizes

    def evaluate(self, data: np.ndarray) -> np.ndarray:
        axes = spatial_axes(self.layout, self.letters, data.ndim)
        return adaptive_windows(data, axes, self.sizes([data.shape[a] for a in axes]), self.average)  # type: ignore[arg-type]  # the extents of an array are numbers, and so are those given

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (x,) = inputs
        axes = spatial_axes(self.layout, self.letters, x.ndim)
        return adaptive(x, axes, [out_type.shape[a] for a in axes], self.average)


@operator("nn.adaptive_avg_pool1d", "data", pattern=Pattern.OUT_ELEMWISE_FUSABLE, attrs="AdaptivePool1DAttrs")
@dataclass(frozen=True)
class AdaptiveAvgPool1D(AdaptivePool):
    """The mean of each of `output_size` windows over `W`."""

    precision = "never"

    letters = "W"
    average = True
    output_size: tuple[int, ...] | None = ()
    layout: str = "NCW"
    out_layout: str = ""


@operator("nn.adaptive_max_pool1d", "data", pattern=Pattern.OUT_ELEMWISE_FUSABLE, attrs="AdaptivePool1DAttrs")
@dataclass(frozen=True)
class AdaptiveMaxPool1D(AdaptivePool):
    """The largest element of each of `output_size` windows over `W`."""

    precision = "follow"

    letters = "W"
    average = False
    output_size: tuple[int, ...] | None = ()
    layout: str = "NCW"
    out_layout: str = ""


@operator("nn.adaptive_avg_pool2d", "data", pattern=Pattern.OUT_ELEMWISE_FUSABLE, attrs="AdaptivePool2DAttrs")
@dataclass(frozen=True)
class AdaptiveAvgPool2D(AdaptivePool):
    """The mean of each of `output_size` windows over `H` and `W`."""

    precision = "never"

    letters = "HW"
    average = True
    output_size: tuple[int, ...] | None = ()
    layout: str = "NCHW"
    out_layout: str = ""


@operator("nn.adaptive_max_pool2d", "data", pattern=Pattern.OUT_ELEMWISE_FUSABLE, attrs="AdaptivePool2DAttrs")
@dataclass(frozen=True)
class AdaptiveMaxPool2D(AdaptivePool):
    """The largest element of each of `output_size` windows over `H` and `W`."""

    precision = "follow"

    letters = "HW"
    average = False
    output_size: tuple[int, ...] | None = ()
    layout: str = "NCHW"
    out_layout: str = ""


@operator("nn.adaptive_avg_pool3d", "data", pattern=Pattern.OUT_ELEMWISE_FUSABLE, attrs="AdaptivePool3DAttrs")
@dataclass(frozen=True)
class AdaptiveAvgPool3D(AdaptivePool):
    """The mean of each of `output_size` windows over `D`, `H` and `W`."""

    precision = "never"

    letters = "DHW"
    average = True
    output_size: tuple[int, ...] | None = ()
    layout: str = "NCDHW"
    out_layout: str = ""


@operator("nn.adaptive_max_pool3d", "data", pattern=Pattern.OUT_ELEMWISE_FUSABLE, attrs="AdaptivePool3DAttrs")
@dataclass(frozen=True)
class AdaptiveMaxPool3D(AdaptivePool):
    """The largest element of each of `output_size` windows over `D`, `H` and `W`."""

    precision = "follow"

    letters = "DHW"
    average = False
    output_size: tuple[int, ...] | None = ()
    layout: str = "NCDHW"
    out_layout: str = ""
