"""A convolution that is computed by transformed tiles, as a stage of a kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...tir.stmt import Buffer
from ...tir.vector_target import VectorTarget
from ..staged import StagedForm, StagedNest, StagedPlan
from .choice import fitting, priced
from .convolution import Convolution
from .nest import nest_of_tiles
from .tiling import Tiling


@dataclass(frozen=True, eq=False)
class TransformedTiles(StagedForm):
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

    def nest(self, t: Tiling) -> StagedNest:
        """The nest of a plan."""
        if t not in self.nests:
            self.nests[t] = nest_of_tiles(self.convolution, t, self.weights)
        return self.nests[t]

    @property
    def work(self) -> int:
        """Multiply-adds of the convolution as it was written."""
        return self.convolution.updates

    def plans(self, target: VectorTarget) -> Iterator[StagedPlan]:
        """The plan that the weights were transformed for, on its processor; then others that take the same weights."""
        own = [self.tiling] if target == self.target else []
        for t in own:
            yield _plan(t, self.convolution, target)
        for t in fitting(self.tiling, self.convolution, target):
            if t not in own:
                yield _plan(t, self.convolution, target)


def _plan(t: Tiling, c: Convolution, target: VectorTarget) -> StagedPlan:
    choice = priced(t, c, target)
    return StagedPlan(choice.cost, choice.reason, t.label, t.arguments, target)
