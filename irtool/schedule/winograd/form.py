"""A convolution that is computed by transformed tiles, as a stage of a kernel."""

from __future__ import annotations

from dataclasses import dataclass

from ...tir.forms import Steps
from ...tir.stmt import Buffer
from ...tir.vector_target import VectorTarget
from .convolution import Convolution
from .tiling import Tiling


@dataclass(frozen=True)
class TransformedTiles(Steps):
    """The nest of a convolution by Winograd's algorithm, for one processor.

    Attributes:
        convolution: what is computed.
        tiling: how.
        weights: the transformed weights.
        target: the processor that the nest was made for. Others take the same weights, in a nest of their own.
        cost: cycles for each of the convolution's updates, as they were estimated.
        reason: why the convolution is computed so, for people.
        trace: the primitives that made its products.
    """

    convolution: Convolution
    tiling: Tiling
    weights: Buffer
    target: VectorTarget
    cost: float
    reason: str
    trace: tuple[str, ...] = ()

    @property
    def work(self) -> int:
        """Multiply-adds of the convolution as it was written."""
        return self.convolution.updates
