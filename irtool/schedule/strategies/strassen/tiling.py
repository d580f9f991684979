"""Tiling of a product by Strassen's algorithm: rows and columns at a time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tiling:
    """A plan for a product.

    Attributes:
        rows: pairs of rows, of the upper and of the lower half of a block, that are multiplied at once.
        blocks: the number of such blocks in a band.
        bands: the number of bands; the sums of the data of one band are in the workspace. 0: every block has its own, on the
            stack.
        columns: results of each half that are computed at once.
        lanes: elements that are added at once.
    """

    rows: int
    blocks: int
    bands: int
    columns: int
    lanes: int

    @property
    def count(self) -> int:
        """The number of rows, with those that pad the last block."""
        return 2 * self.rows * self.blocks * max(1, self.bands)

    @property
    def arguments(self) -> dict[str, int]:
        """The arguments of the primitive `strassen`."""
        own = {"rows": self.rows, "columns": self.columns, "lanes": self.lanes}
        return own | {"bands": self.bands} if self.bands else own

    @property
    def label(self) -> str:
        """The name of the plan among others for the same product."""
        where = f"in {self.bands} bands" if self.bands else "on the stack"
        return f"{self.rows} pairs of rows {where}, {self.columns} columns"
