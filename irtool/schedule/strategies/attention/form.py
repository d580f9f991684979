"""An attention as one stage of a kernel, which is scheduled as several."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from ....tir.forms import Reduction, stores_of
from ....tir.vector_target import VectorTarget
from ...core.staged import StagedForm, StagedNest, StagedPlan
from ...cost.tile_choice import choose_register_tile
from .chain import Chain
from .nest import nest_of_rows
from .tiled import NotRows, is_product, is_rounded
from .tiling import RowTiling, has_tiles, heights_of, rows_of, tiling_of


@dataclass(frozen=True, eq=False)
class Attention(StagedForm):
    """A product, a softmax of its rows, and a product with that.

    Attributes:
        chain: its formula.
        tiling: the plan of its nest.
    """

    chain: Chain
    tiling: RowTiling

    @staticmethod
    def of(chain: Chain, target: VectorTarget) -> Attention:
        """The stage, with the nest of the best plan for a processor. Raises NotRows if rows cannot be tiled, or are too few, or
        short."""
        has_pairs = target.paired_products > 1 or has_tiles(chain, target)
        if not has_pairs and any(map(is_rounded, chain.products)):
            raise NotRows  # without an instruction for pairs, two products would take longer than one of float32
        _, rows = heights_of(chain, target)[0]
        tiling = tiling_of(chain, rows, target)
        nest = nest_of_rows(chain, tiling)
        _check_tiles(nest, target)
        return Attention(nest.lower({}), target, chain, tiling, nests={tiling: nest})

    def nest(self, t: RowTiling) -> StagedNest:
        """The nest of a plan. Raises NotRows if a stage cannot be tiled."""
        if t not in self.nests:
            self.nests[t] = nest_of_rows(self.chain, t)
        return self.nests[t]

    @property
    def work(self) -> int:
        """Updates of both products."""
        return self.chain.work

    def plans(self, target: VectorTarget) -> Iterator[StagedPlan]:
        """Plans for tiles of the heights that are worth it. Without any, the plan for another processor is better than plain
        loops."""
        try:
            heights = heights_of(self.chain, target)
        except NotRows:
            heights, target = [(math.inf, self.tiling.rows)], self.target
        for cycles, rows in heights:
            try:
                yield self._plan(tiling_of(self.chain, rows, target), cycles, target)
            except NotRows:
                continue

    def _plan(self, t: RowTiling, cycles: float, target: VectorTarget) -> StagedPlan:
        """The plan with its reason. Raises NotRows if a stage cannot be tiled."""
        nest = self.nest(t)
        if (t, target) != (self.tiling, self.target):
            _check_tiles(nest, target)
        return StagedPlan(cycles, _reason(self.chain, t, nest), f"{t.rows} rows", t.arguments, target)


def _reason(chain: Chain, t: RowTiling, nest: StagedNest) -> str:
    """The reason for a plan, as `--explain` prints it."""
    _, _, columns = rows_of(chain.products[0])
    reason = f"{t.rows} rows of {columns} at a time, {'in the cache' if t.parts else 'on the stack'}"
    others = {x.buffer for f in chain.before for x in stores_of(f)}
    stores = [x for s in nest.stages if not s.private for f in s.forms for x in stores_of(f)]
    copies = dict.fromkeys(x.buffer.name for x in stores if x.buffer not in others)
    if copies:
        reason += f", packed {' and '.join(copies)}"
    return reason


def _check_tiles(nest: StagedNest, target: VectorTarget) -> None:
    """Raises NotRows if a product has no register tile."""
    for r in (f for s in nest.stages for f in s.forms):
        if isinstance(r, Reduction) and is_product(r) and choose_register_tile(r, target, again=True) is None:
            raise NotRows
