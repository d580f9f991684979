"""Windows that slide over the spatial axes of `(batch, channels, …)`: their attributes, checked and completed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...diagnostics import IrError
from .counts import require_counts
from .mistakes import DamagedModel, UnsupportedNode
from .value import Value
from .windows import window_padding

LETTERS = {1: "W", 2: "HW", 3: "DHW"}
"""The spatial axes of Relay's layouts."""

NO_INTS: tuple[int, ...] = ()
"""The default of attributes that are lists of integers, typed."""


def spatial_rank(x: Value, what: str) -> int:
    """The number of axes behind batch and channels. Raises IrError unless there are 1 to 3 of them."""
    rank = x.rank - 2
    if rank not in LETTERS:
        raise IrError(f"{what} over {max(rank, 0)} spatial axes has no form in Relay", code=UnsupportedNode)
    return rank


@dataclass(frozen=True)
class Windows:
    """Windows over spatial axes, one number an axis; `pads` are those before all axes, then those behind them.

    Attributes:
        auto_pad: NOTSET, VALID, SAME_UPPER or SAME_LOWER.
    """

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[int, ...]
    auto_pad: str = "NOTSET"

    @staticmethod
    def of(
        kernel: Sequence[int],
        strides: Sequence[int] | None,
        pads: Sequence[int] | None,
        dilations: Sequence[int] | None = None,
        auto_pad: str = "NOTSET",
    ) -> Windows:
        """The windows that attributes describe. Raises IrError if they contradict each other."""
        n = len(kernel)
        windows = Windows(
            tuple(kernel),
            tuple(strides or (1,) * n),
            tuple(dilations or (1,) * n),
            tuple(pads or (0,) * (2 * n)),
            auto_pad or "NOTSET",
        )
        for name, values, count, least in (
            ("kernel_shape", windows.kernel, n, 1),
            ("strides", windows.strides, n, 1),
            ("dilations", windows.dilations, n, 1),
            ("pads", windows.pads, 2 * n, 0),
        ):
            require_counts(values, count, name, least)
        if windows.auto_pad not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"):
            raise IrError(f"auto_pad is {windows.auto_pad}, which ONNX does not have", code=DamagedModel)
        return windows

    @property
    def rank(self) -> int:
        """The number of spatial axes."""
        return len(self.kernel)

    @property
    def reach(self) -> tuple[int, ...]:
        """The extents of a window with its gaps."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True))

    def require_fit(self, x: Value, what: str) -> None:
        """Raises IrError, naming the tensor by `what`, unless it has as many spatial axes."""
        x.require_rank(self.rank + 2, what)

    def padding(self, x: Value, what: str) -> tuple[int, ...]:
        """The pads that hold for a tensor: those of `auto_pad` where it says so. Raises IrError if these need an extent
        that is not known.
        """
        self.require_fit(x, what)
        if self.auto_pad == "NOTSET":
            return self.pads
        if self.auto_pad == "VALID":
            return (0,) * (2 * self.rank)
        extents = spatial_extents(x, what)
        return tuple(window_padding(self.auto_pad, (), extents, self.kernel, self.strides, self.dilations))


def weight_windows(
    x: Value,
    w: Value,
    kernel_shape: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    auto_pad: str,
) -> Windows:
    """The windows of a convolution with weights `(M, C / group, …)`; empty attributes stand for their defaults.

    Raises IrError if the data, the weights and `kernel_shape` do not fit together.
    """
    rank = spatial_rank(x, "a convolution")
    weights_shape = w.extents("the weights of the convolution")
    if len(weights_shape) != rank + 2 or (kernel_shape and tuple(kernel_shape) != weights_shape[2:]):
        detail = f": kernel_shape is {list(kernel_shape)}" if kernel_shape else ""
        raise IrError(f"data {x.tensor} and weights {w.tensor} do not fit together{detail}", code=DamagedModel)
    return Windows.of(weights_shape[2:], strides, pads, dilations, auto_pad)


def spatial_extents(x: Value, what: str) -> tuple[int, ...]:
    """The extents behind batch and channels. Raises IrError if one is unknown."""
    if not all(isinstance(d, int) for d in x.shape[2:]):
        x.extents(what)
    return x.shape[2:]  # type: ignore[return-value]  # all of them are integers
