"""A convolution that is computed by transformed tiles, as a stage of a kernel."""

from __future__ import annotations

from dataclasses import dataclass

from ....tir.stmt import Buffer
from ....tir.vector_target import VectorTarget
from ...core.staged import StagedNest, StagedPlan, TiledForm
from .choice import fitting, priced
from .convolution import Convolution
from .nest import nest_of_tiles
from .tiling import Tiling


@dataclass(frozen=True, eq=False)
class TransformedTiles(TiledForm[Tiling]):
    """A convolution by Winograd's algorithm.

    Attributes:
        convolution: what is computed.
        tiling: how. The weights settle the size of tiles and the channels of a block, for all processors.
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
        """Other plans that take the same weights."""
        return fitting(self.tiling, self.convolution, target)

    def priced(self, t: Tiling, target: VectorTarget) -> StagedPlan:
        """What a plan costs."""
        return priced(t, self.convolution, target)

    @property
    def work(self) -> int:
        """Multiply-adds of the convolution as it was written."""
        return self.convolution.updates
