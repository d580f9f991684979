"""How the tiles of a transformed convolution are taken: of which size, and how many at a time."""

from __future__ import annotations

from dataclasses import dataclass

from .convolution import TAPS


@dataclass(frozen=True)
class Tiling:
    """A plan for a convolution with F(`size` x `size`, 3 x 3).

    Attributes:
        size: results of a tile along an axis.
        rows, columns: tiles of an image; `images` of these.
        tiles: tiles that are multiplied and transformed back at once.
        blocks: so many of these blocks make all tiles of a band.
        bands: all tiles are made in so many steps; the transformed data of one lies in the workspace. 0: every block of tiles has
            its own, on the stack.
        filters: output channels that are made at once.
        lanes: channels that are transformed at once.
    """

    size: int
    images: int
    rows: int
    columns: int
    tiles: int
    blocks: int
    bands: int
    filters: int
    lanes: int

    @property
    def count(self) -> int:
        """Tiles in all."""
        return self.images * self.rows * self.columns

    @property
    def window(self) -> int:
        """Elements of a tile of the data along an axis."""
        return self.size + TAPS - 1

    @property
    def products(self) -> int:
        """Products of a tile for each pair of channels."""
        return self.window**2

    @property
    def arguments(self) -> dict[str, int]:
        """Those of the primitive `winograd`."""
        own = {"tile": self.size, "tiles": self.tiles, "filters": self.filters, "lanes": self.lanes}
        return own | {"bands": self.bands} if self.bands else own

    @property
    def label(self) -> str:
        """What tells it from other plans for the same convolution."""
        where = f"in {self.bands} bands" if self.bands else "on the stack"
        return f"F({self.size} x {self.size}), {self.tiles} tiles {where}, {self.filters} channels"
