"""Tiling of a transformed convolution: the size of its tiles, and their number at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ....symbolic_int import is_known
from .cook_toom import Transforms, transforms


def sizes(size: int, taps: tuple[int, int]) -> tuple[int, int]:
    """The results of a tile along both axes: `size` along an axis with several taps, otherwise 1."""
    return 1 if taps[0] == 1 else size, size


@dataclass(frozen=True)
class Tiling:
    """A plan for a convolution with F(`size` x `size`, `taps`), or F(1 x `size`, `taps`) for windows of one row.

    Attributes:
        size: results of a tile along an axis.
        taps: elements of a window, by rows and columns.
        strides: the distances of neighbouring windows, by rows and columns.
        rows, columns: tiles of an image.
        images: the number of images.
        tiles: tiles that are multiplied and transformed back at once.
        blocks: the number of such blocks in a band.
        bands: the number of bands; the transformed data of one band are in the workspace. 0: every block of tiles has its own, on
            the stack.
        own: true if each thread has the data of a band on its stack instead, and transforms them for itself.
        filters: output channels that are computed at once.
        lanes: channels that are transformed at once.
    """

    size: int
    taps: tuple[int, int]
    strides: tuple[int, int]
    images: int
    rows: int
    columns: int
    tiles: int
    blocks: int
    bands: int
    filters: int
    lanes: int
    own: bool = False

    @property
    def shares_bands(self) -> bool:
        """True if threads share the bands. In a single band, each thread transforms all data, and computes its share of the
        results."""
        return self.own and self.bands != 1

    @property
    def is_open(self) -> bool:
        """True if only the run knows the number of tiles."""
        return not is_known(self.count)

    @property
    def is_whole(self) -> bool:
        """True if no block has more places than tiles: full blocks, or an open number of tiles, whose last block has fewer."""
        return self.is_open or self.tiles * self.blocks * (self.bands or 1) == self.count

    def at_bounds(self) -> Tiling:
        """The tiling for the greatest lengths of a run, in an estimate."""
        rows, columns, images = map(int, (self.rows, self.columns, self.images))
        return replace(self, rows=rows, columns=columns, images=images, blocks=int(self.blocks), bands=int(self.bands))

    @property
    def count(self) -> int:
        """The number of tiles."""
        return self.images * self.rows * self.columns

    @property
    def sizes(self) -> tuple[int, int]:
        """The results of a tile along rows and columns."""
        return sizes(self.size, self.taps)

    @property
    def window(self) -> tuple[int, int]:
        """The rows and columns of a tile of the data."""
        return self.down.inputs, self.across.inputs

    @property
    def products(self) -> int:
        """The products of a tile for each pair of channels."""
        return self.down.products * self.across.products

    @property
    def down(self) -> Transforms:
        """The matrices that transform columns."""
        return transforms(self.sizes[0], self.taps[0], self.strides[0])

    @property
    def across(self) -> Transforms:
        """The matrices that transform rows."""
        return transforms(self.size, self.taps[1], self.strides[1])

    @property
    def arguments(self) -> dict[str, int]:
        """The arguments of the primitive `winograd`."""
        own = {"tile": self.size, "tiles": self.tiles, "filters": self.filters, "lanes": self.lanes}
        if not self.bands:
            return own
        bands = {"bands": self.bands} if is_known(self.bands) else {"blocks": self.blocks}
        return own | bands | ({"own": 1} if self.own else {})

    @property
    def label(self) -> str:
        """The name of the plan among others for the same convolution."""
        bands = f"{self.bands} {'own ' if self.own else ''}bands"
        if not is_known(self.bands):
            bands = f"{'own ' if self.own else ''}bands of {self.blocks} blocks"
        where = f"in {bands}" if self.bands else "on the stack"
        return f"F({self.sizes[0]} x {self.size}), {self.tiles} tiles {where}, {self.filters} channels"
