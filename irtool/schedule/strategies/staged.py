"""Stages that are split into several, each of which gets a strategy of its own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from ...tir.stmt import Buffer, Stmt
from ..core.affine import loads
from ..core.block import Block
from ..core.forms import Map, Reduction
from ..core.nest import lower, lower_all
from ..core.staged import NamedStage, StagedForm, StagedNest, StagedPlan
from ..core.switches import is_on
from ..cost.tile_choice import choose_register_tile
from ..primitives import prefetch, untraced, vectorize
from ..primitives import stage as traced_stage
from .base import Candidate, Stage, Strategy, choose_strategy
from .matrix_tile.amx_tile import AmxTile
from .register_tile.strategy import Finish, RegisterTile, tile_reduction


@dataclass(frozen=True)
class Scheduling:
    """The schedule of one stage. `description`: its text in the trace; `apply`: builds the nest."""

    description: str
    apply: Callable[[], Stmt]


def by_strategy(stage: Stage) -> Scheduling:
    """The schedule by the winning strategy."""
    with untraced():
        strategy, candidate = choose_strategy(stage)
    return Scheduling(f"{strategy.name} — {candidate.reason}", lambda: strategy.apply(stage, candidate))


def in_registers(stage: Stage, finish: Finish | None = None) -> Scheduling:
    """A product in register tiles, whose results may be computed twice; by another strategy if it has no tile."""
    r = stage.form
    choice = choose_register_tile(r, stage.target, again=True) if isinstance(r, Reduction) else None
    if choice is None or not isinstance(r, Reduction):
        return by_strategy(stage)
    tile = partial(tile_reduction, Block.of(r), choice, stage.target, serial=stage.serial, finish=finish)
    return Scheduling(f"{RegisterTile.name} — {choice.reason}", lambda: lower_all(tile(), stage.target))


def in_matrix_tiles(stage: Stage) -> Scheduling | None:
    """A product of words in matrix tiles; None if the processor has none for it, or vectors are as fast."""
    tiles = AmxTile()
    with untraced():
        candidate = tiles.choose(stage) if is_on(tiles.name) else None
    if candidate is None:
        return None
    return Scheduling(f"{tiles.name} — {candidate.reason}", lambda: tiles.apply(stage, candidate))


def in_vectors_or_registers(stage: Stage, weights: Buffer) -> Scheduling:
    """Maps in vectors along their last loop; products of their results with weights in register tiles.

    The loops of a product are those over products, over rows and over columns.
    """
    form = stage.form
    if isinstance(form, Map):
        block: Block[Map] = Block.of(form)
        lane, lanes = form.loops[-1]
        return Scheduling("", lambda: lower(vectorize(block, lane) if lanes > 1 else block))
    is_far = weights.nbytes >= stage.target.l1_cache_bytes
    return in_registers(stage, partial(_next_weights, weights) if is_far else None)


def _next_weights(weights: Buffer, b: Block[Reduction]) -> Block[Reduction]:
    """The products with prefetches of the next product's weights, if weights come from memory."""
    (p, _), (row, _), _ = b.form.loops
    ahead = b.over(p)[0]
    if not any(ahead is x for x, _ in b.outside):
        return b  # the tile has several products: their weights are together already
    (read,) = (e for e in loads(b.form.update) if e.source is weights)
    over = [v for v in b.over(row) if any(v is x for x, _ in b.outside)]
    return prefetch(b, read, ahead, *over[:1])


def schedule_stages(nest: StagedNest, schedule: Callable[[NamedStage, Map | Reduction], Scheduling]) -> Stmt:
    """The nest, with each of its stages scheduled. All places of a stage have the same schedule, which the trace has once."""
    nests: dict[str, list[Stmt]] = {}
    for stage in nest.stages:
        first, *others = (schedule(stage, form) for form in stage.forms)
        with traced_stage(stage.name, first.description):
            nests[stage.name] = [first.apply()]
        with untraced():
            nests[stage.name] += [x.apply() for x in others]
    return nest.lower(nests)


class StagedStrategy(Strategy):
    """A strategy for stages that a primitive splits into several. A plan is chosen for each processor anew."""

    form: ClassVar[type[StagedForm]]
    """The class of the stages that it supports."""

    def choose(self, stage: Stage) -> Candidate | None:
        return next(self.variants(stage), None)

    def variants(self, stage: Stage) -> Iterator[Candidate]:
        if isinstance(stage.form, self.form):
            for plan in stage.form.plans(stage.target):
                yield Candidate(plan.cost, plan.reason, plan, plan.label)

    def apply(self, stage: Stage, candidate: Candidate) -> Stmt:
        plan: StagedPlan = candidate.plan

        def schedule(named: NamedStage, form: Map | Reduction) -> Scheduling:
            return self.schedule(Stage(form, plan.target, serial=named.private), stage)

        return schedule_stages(self.divide(stage, plan), schedule)

    @abstractmethod
    def divide(self, stage: Stage, plan: StagedPlan) -> StagedNest:
        """The stages into which a plan splits one."""

    @abstractmethod
    def schedule(self, stage: Stage, whole: Stage) -> Scheduling:
        """The schedule of one of these stages; `whole` is the original one."""
