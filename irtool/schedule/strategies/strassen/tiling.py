"""Tiling of a product by Strassen's algorithm: rows and columns at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ....symbolic_int import is_known


@dataclass(frozen=True)
class Tiling:
    """A plan for a product.

    Attributes:
        rows: pairs of rows, of the upper and of the lower half of a block, that are multiplied at once.
        blocks: the number of such blocks in a band. The last of an open number of bands may have fewer.
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
    def is_open(self) -> bool:
        """True if only the run knows the number of blocks."""
        return not (is_known(self.blocks) and is_known(self.bands))

    @property
    def count(self) -> int:
        """The number of rows, with those that pad the last block."""
        return 2 * self.rows * self.blocks * (self.bands or 1)

    def of_rows(self, count: int) -> Tiling:
        """The tiling for a number of rows, if only the run knows it."""
        if not self.is_open:
            return self
        blocks = -(-count // (2 * self.rows))
        if not self.bands:
            return replace(self, blocks=blocks)
        each = min(self.blocks, blocks)
        return replace(self, blocks=each, bands=-(-blocks // each))

    @property
    def arguments(self) -> dict[str, int]:
        """The arguments of the primitive `strassen`."""
        own = {"rows": self.rows, "columns": self.columns, "lanes": self.lanes}
        if self.is_open and self.bands:
            return own | {"blocks": self.blocks}
        return own | {"bands": self.bands} if self.bands else own

    @property
    def label(self) -> str:
        """The name of the plan among others for the same product."""
        bands = f"bands of {self.blocks} blocks" if self.is_open else f"{self.bands} bands"
        where = f"in {bands}" if self.bands else "on the stack"
        return f"{self.rows} pairs of rows {where}, {self.columns} columns"
