"""A product by products of halves, as a stage of a kernel."""

from __future__ import annotations

from dataclasses import dataclass

from ....tir.stmt import Buffer
from ....tir.vector_target import VectorTarget
from ...core.staged import StagedNest, StagedPlan, TiledForm
from .choice import fitting, priced
from .nest import nest_of_halves
from .product import Product
from .tiling import Tiling


@dataclass(frozen=True, eq=False)
class ProductOfHalves(TiledForm[Tiling]):
    """A product by Strassen's algorithm.

    Attributes:
        product: its formula.
        tiling: the plan of its nest. The weights fix the columns of a block, for all processors.
        weights: the sums of weights.
    """

    product: Product
    tiling: Tiling
    weights: Buffer

    @staticmethod
    def of(p: Product, tiling: Tiling, weights: Buffer, target: VectorTarget) -> ProductOfHalves:
        """The stage, with the nest of a plan for a processor."""
        nest = nest_of_halves(p, tiling, weights)
        return ProductOfHalves(nest.lower({}), target, p, tiling, weights, nests={tiling: nest})

    def make(self, t: Tiling) -> StagedNest:
        """The nest of a plan."""
        return nest_of_halves(self.product, t, self.weights)

    def fitting(self, target: VectorTarget) -> list[Tiling]:
        """Other plans that use the same weights."""
        return fitting(self.tiling, self.product, target)

    def priced(self, t: Tiling, target: VectorTarget) -> StagedPlan:
        """The plan with its cost."""
        return priced(t, self.product, target)

    @property
    def work(self) -> int:
        """Multiply-adds of the plain product."""
        return self.product.updates
