"""A convolution by transformed tiles, as a stage of a kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ....tir.stmt import Buffer
from ....tir.vector_target import VectorTarget
from ...core.staged import StagedNest, StagedPlan, TiledForm
from ...cost.machine import FLOAT32_BYTES
from ...cost.winograd import direct_cycles, winograd_cycles
from .convolution import Convolution
from .nest import nest_of_tiles
from .plans import plans_of_size
from .tiling import Tiling


@dataclass(frozen=True, eq=False)
class TransformedTiles(TiledForm[Tiling]):
    """A convolution by Winograd's algorithm.

    Attributes:
        convolution: its formula.
        tiling: the plan of its nest. The weights fix the size of tiles and the channels of a block, for all processors.
        weights: the transformed weights.
    """

    convolution: Convolution
    tiling: Tiling
    weights: Buffer

    @staticmethod
    def of(c: Convolution, tiling: Tiling, weights: Buffer, target: VectorTarget) -> TransformedTiles:
        """The stage, with the nest of a plan for a processor."""
        nest = nest_of_tiles(c, tiling, weights)
        return TransformedTiles(nest.lower({}), target, c, tiling, weights, nests={tiling: nest})

    def make(self, t: Tiling) -> StagedNest:
        """The nest of a plan."""
        return nest_of_tiles(self.convolution, t, self.weights)

    def fitting(self, target: VectorTarget) -> list[Tiling]:
        """Plans that use the same weights, best first: tiles of that size, and blocks of as many filters."""
        t, c = self.tiling, self.convolution
        lanes = min(t.lanes, target.lanes(FLOAT32_BYTES))
        plans = plans_of_size(c, t.size, lanes, target, t.filters) or [replace(t, lanes=lanes)]
        return sorted(plans, key=lambda x: winograd_cycles(c, x, target))

    def priced(self, t: Tiling, target: VectorTarget) -> StagedPlan:
        """The plan with its cost."""
        c = self.convolution
        cycles = winograd_cycles(c, t, target)
        share = f"{cycles / direct_cycles(c, target):.2f} of the estimated cycles without"
        (rows, columns), (down, across) = t.taps, t.strides
        kind = "" if t.strides == (1, 1) else f", strides {down} and {across}"
        kind += "" if c.parts == (1, 1) else f", windows of {c.parts[0]} x {c.parts[1]} parts"
        tiles = f"{t.tiles} of {t.count} tiles at a time, {t.filters} channels"
        reason = f"F({t.sizes[0]} x {t.size}, {rows} x {columns}{kind}), {tiles}, {share}"
        return StagedPlan(cycles / c.updates, reason, t.label, t.arguments, target)

    @property
    def work(self) -> int:
        """Multiply-adds of the plain convolution."""
        return self.convolution.updates
