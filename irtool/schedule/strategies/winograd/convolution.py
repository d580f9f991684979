"""Convolutions that can be transformed: windows along one axis or two, sums in float32 over all channels, and slices for depth."""

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
        copies: how many stages before it, 1 or 0, are a padded copy that is not needed.
        data: what is read, at an element that stands for (image, channel, slice, row, column) = `image`, `channel`, the depth's
            `slice`, the other axes' `of`.
        image: the axes of images: of a batch, and of depth, if it has more than one result.
        filters: the axis of output channels, and how many there are.
        channel: the axis of input channels, and how many there are, of all groups.
        depth: the axis of slices; None if there is none, or every slice is an image of its own.
        rows, columns: the spatial axes. Data of one dimension have a single row.
        weights: the buffer of the weights; `order` has its axes in the order filters, taps along depth, channels, rows, columns.
        groups: of channels: each has as many filters as any other, which sum the channels of their own group only. There is no depth
            where there are several.
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
        """Images of results: of a batch, and along depth."""
        return prod(n for _, n in self.image)

    @property
    def taps(self) -> int:
        """Slices that are summed for one image of results."""
        return self.depth.taps if self.depth is not None else 1

    @property
    def windows(self) -> tuple[int, int]:
        """Rows and columns of a window, or of a part of it."""
        return self.rows.taps, self.columns.taps

    @property
    def parts(self) -> tuple[int, int]:
        """Of how many parts a window is, by rows and columns."""
        return self.rows.parts, self.columns.parts

    @property
    def strides(self) -> tuple[int, int]:
        """How far apart windows are, by rows and columns."""
        return self.rows.stride, self.columns.stride

    @property
    def inputs(self) -> int:
        """Numbers of the data for each product of a tile: input channels of all parts of windows of all slices, those of one side by
        side."""
        return self.taps * prod(self.parts) * self.channel[1]

    @property
    def steps(self) -> int:
        """Products that are summed for each product of a tile and a filter: those of the inputs that are of its group."""
        return self.inputs // self.groups

    @property
    def filters_of_group(self) -> int:
        """Output channels of a group."""
        return self.filters[1] // self.groups

    @property
    def skipped_steps(self) -> int:
        """Steps of the weights, before the first that is taken, that would be multiplied by padding only."""
        return self.depth.skipped * prod(self.parts) * self.channel[1] if self.depth is not None else 0

    @property
    def results(self) -> int:
        """Results of the sum."""
        return self.images * self.rows.extent * self.columns.extent * self.filters[1]

    @property
    def updates(self) -> int:
        """Multiply-adds of the sum as it is written."""
        return self.form.work
