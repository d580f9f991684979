"""A product that is made of products of halves, as a stage of a kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...tir.stmt import Buffer
from ...tir.vector_target import VectorTarget
from ..staged import StagedForm, StagedNest, StagedPlan
from .choice import fitting, priced
from .nest import nest_of_halves
from .product import Product
from .tiling import Tiling


@dataclass(frozen=True, eq=False)
class ProductOfHalves(StagedForm):
    """A product by Strassen's algorithm.

    Attributes:
        product: what is computed.
        tiling: how. The weights settle the columns of a block, for all processors.
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

    def nest(self, t: Tiling) -> StagedNest:
        """The nest of a plan."""
        if t not in self.nests:
            self.nests[t] = nest_of_halves(self.product, t, self.weights)
        return self.nests[t]

    @property
    def work(self) -> int:
        """Multiply-adds of the product as it was written."""
        return self.product.updates

    def plans(self, target: VectorTarget) -> Iterator[StagedPlan]:
        """The plan that the weights were added for, on its processor; then others that take the same weights."""
        own = [self.tiling] if target == self.target else []
        for t in own:
            yield _plan(t, self.product, target)
        for t in fitting(self.tiling, self.product, target):
            if t not in own:
                yield _plan(t, self.product, target)


def _plan(t: Tiling, p: Product, target: VectorTarget) -> StagedPlan:
    choice = priced(t, p, target)
    return StagedPlan(choice.cost, choice.reason, t.label, t.arguments, target)
