"""Convolutions that Winograd supports: windows along one axis or two, sums in float32 over all channels, and slices for depth."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ....tir.expr import Load
from ....tir.forms import Loop, Reduction
from ....tir.stmt import Buffer
from .axes import DepthAxis, SpatialAxis


@dataclass(frozen=True, eq=False)
class Convolution:
    """A reduction as a convolution. Compared by identity.

    Attributes:
        form: the reduction. Its stores are the epilogue.
        copies: the number of padded copies before it that are not needed, 1 or 0.
        data: the read of the element (image, channel, slice, row, column) = `image`, `channel`, the depth's `slice`, the other
            axes' `of`.
        image: the axes of images: of a batch, and of depth, if it has more than one result.
        filters: the axis of output channels, with its extent.
        channel: the axis of input channels, with their number in all groups.
        depth: the axis of slices; None without one, or if every slice is an image of its own.
        rows, columns: the spatial axes. Data of one dimension have a single row.
        weights: the buffer of the weights.
        order: its axes in the order filters, taps along depth, channels, rows, columns.
        groups: the number of groups of channels. Each has the same number of filters, which sum the channels of their own group
            only. Several groups exclude depth.
    """

    form: Reduction
    copies: int
    data: Load
    image: tuple[Loop, ...]
    filters: Loop
    channel: Loop
    depth: DepthAxis | None
    rows: SpatialAxis
    columns: SpatialAxis
    weights: Buffer
    order: tuple[int, ...]
    groups: int = 1

    @property
    def images(self) -> int:
        """The number of result images: of a batch, and along depth."""
        return prod(n for _, n in self.image)

    @property
    def taps(self) -> int:
        """The slices that are summed for one result image."""
        return self.depth.taps if self.depth is not None else 1

    @property
    def windows(self) -> tuple[int, int]:
        """The rows and columns of a window, or of a part of it."""
        return self.rows.taps, self.columns.taps

    @property
    def parts(self) -> tuple[int, int]:
        """The number of parts of a window, by rows and columns."""
        return self.rows.parts, self.columns.parts

    @property
    def strides(self) -> tuple[int, int]:
        """The distance of windows, by rows and columns."""
        return self.rows.stride, self.columns.stride

    @property
    def inputs(self) -> int:
        """Numbers of the data for each product of a tile: the input channels of all parts of windows of all slices, contiguous
        for each part."""
        return self.taps * prod(self.parts) * self.channel[1]

    @property
    def steps(self) -> int:
        """The terms of the sum for each product of a tile and a filter: the inputs of its group."""
        return self.inputs // self.groups

    @property
    def filters_of_group(self) -> int:
        """Output channels of a group."""
        return self.filters[1] // self.groups

    @property
    def skipped_steps(self) -> int:
        """The first steps of the weights that are left out: they would be multiplied by padding only."""
        return self.depth.skipped * prod(self.parts) * self.channel[1] if self.depth is not None else 0

    @property
    def results(self) -> int:
        """The number of results."""
        return self.images * self.rows.extent * self.columns.extent * self.filters[1]

    @property
    def updates(self) -> int:
        """Multiply-adds of the plain convolution."""
        return self.form.work
