"""Strategies: ways to schedule a stage of a kernel, which compete for it.

A strategy offers a candidate for a stage, with its cost and its reason, and schedules the stage by a list of primitives. The
candidate of the lowest cost wins. Schedules by hand and measured choices come before all others, by their `plevel`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import groupby
from typing import Any, ClassVar

from ...diagnostics import UsageError
from ...plugin.origin import is_outside
from ...plugin.registry import Registry
from ...symbolic_int import Undecided, bound, is_known
from ...tir.expr import Expr
from ...tir.forms import AnyForm, LoopForm, Steps, TupleReduction
from ...tir.stmt import Buffer, Stmt
from ...tir.vector_target import VectorTarget
from ..core.affine import loads
from ..core.axes import fuse_axes, fuse_sums, split_blocks, split_groups, split_periods, split_sums
from ..core.float16_lanes import accumulator_lanes
from ..core.forms import Form, Map, Reduction
from ..core.guards import extract_predicates
from ..core.switches import is_on, switched_off
from ..cost.row_choice import choose_row_axis
from ..cost.tile_choice import TileChoice, choose_register_tile
from ..primitives.base import is_traced, remark, tracing
from ..scripts.tuned import note_stage, tuned
from .plugin_checks import adopt_strategy


@dataclass(frozen=True)
class Candidate:
    """A strategy's offer for a stage.

    Attributes:
        cost: processor cycles per update of a reduction, or per element of a map.
        reason: the reason for the offer, in a few words, as `--explain` prints it.
        plan: the parameters of `apply`.
        label: the name of the offer among the strategy's others for the stage, without names of loops; the reason if empty.
    """

    cost: float
    reason: str
    plan: Any = None
    label: str = ""


@dataclass
class Stage:
    """A stage of a kernel, and its facts for strategies.

    Attributes:
        form: its formula.
        target: the processor's vectors.
        rows: the number of rows, if all stages of the kernel sum rows or are elementwise; otherwise 0.
        same: pairs of an input and an output of the kernel that may share memory.
        kernel: the kernel's name.
        number: the number of the stage in the kernel.
        main: true for the stage with the most work.
        serial: true inside of a parallel loop, where the stage must have none of its own.
    """

    form: AnyForm
    target: VectorTarget
    rows: int = 0
    same: list[tuple[Buffer, Buffer]] = field(default_factory=list)
    kernel: str = ""
    number: int = -1
    main: bool = False
    serial: bool = False
    _is_remarked: bool = field(default=False, init=False, repr=False)

    @property
    def work(self) -> int:
        """The greatest number of updates of a reduction, or of elements of a map."""
        if isinstance(self.form, Reduction | TupleReduction | Steps):
            return self.form.work
        return bound(math.prod(n for _, n in self.form.loops)) if isinstance(self.form, Map) else 0

    @property
    def reduction(self) -> Reduction | None:
        """The reduction, with predicates as guards, and with axes split into blocks of layouts and fused if possible; None for
        other forms."""
        return self._tell(self._fused) if isinstance(self.form, Reduction) else None

    @property
    def padded(self) -> Reduction | None:
        """The same with predicates of products that may be NaN as guards, too (see `extract_predicates`)."""
        return self._tell(self._formed) if isinstance(self.form, Reduction) else None

    @property
    def map(self) -> Map | None:
        """The map, with axes split and fused likewise; None for other forms."""
        return self._tell(self._flat) if isinstance(self.form, Map) else None

    @property
    def windows(self) -> Reduction | None:
        """The reduction before axes are fused; None for other forms."""
        return self._tell(self._split) if isinstance(self.form, Reduction) else None

    @cached_property
    def _prepared(self) -> _Prepared:
        assert isinstance(self.form, Reduction)
        return _prepared(self.form)

    @property
    def _split(self) -> tuple[Reduction, list[str]]:
        return self._prepared.split

    @property
    def _fused(self) -> tuple[Reduction, list[str]]:
        return self._prepared.fused

    @property
    def _formed(self) -> tuple[Reduction, list[str]]:
        return self._prepared.formed

    @cached_property
    def _flat(self) -> tuple[Map, list[str]]:
        assert isinstance(self.form, Map)
        with tracing() as trace:
            return fuse_axes(split_periods(split_blocks(self.form))), trace

    def _tell(self, prepared: tuple[Form, list[str]]) -> Form:
        """The prepared form; the trace, if there is one, gets the primitives that prepared it, once."""
        form, lines = prepared
        if is_traced() and not self._is_remarked:
            self._is_remarked = True
            for line in lines:
                remark(line)
        return form

    @property
    def lanes(self) -> int:
        """Elements of a vector of the reduction's accumulators; 1 without vectors."""
        return accumulator_lanes(self.reduction, self.target) if self.reduction is not None else 1

    @cached_property
    def row_axis(self) -> int | None:
        """The number of the reduction's inner loop along which rows are summed in vectors; None if no loop can be."""
        return choose_row_axis(self.reduction, self.target) if self.reduction is not None else None

    @cached_property
    def tile(self) -> TileChoice | None:
        """The best register tile for the reduction; None if it has none."""
        return self.tile_for(self.reduction) if self.reduction is not None else None

    def tile_for(self, r: Reduction) -> TileChoice | None:
        """The best register tile for a reduction of this stage."""
        return choose_register_tile(r, self.target, self._may_repeat(r, r.update))

    @property
    def may_repeat(self) -> bool:
        """True if results of a map may be computed twice: they cannot overwrite its operands."""
        return isinstance(self.form, Map) and self._may_repeat(self.form)

    @property
    def may_repeat_sums(self) -> bool:
        """True if results of a reduction may be computed twice."""
        return self.reduction is not None and self._may_repeat(self.reduction, self.reduction.update)

    def _may_repeat(self, form: Map | Reduction, *values: Expr) -> bool:
        written = {s.buffer for s in form.stores}
        read = {e.source for e in loads(*values, *(s.value for s in form.stores))}
        return not written & read and not any(a in read and b in written for a, b in self.same)

    def inner(self, form: LoopForm, serial: bool = False) -> Stage:
        """One of the stages into which this one is split."""
        return Stage(form, self.target, self.rows, self.same, serial=serial)


@dataclass(frozen=True)
class _Prepared:
    """A reduction in the forms that strategies take, each with the primitives that lead to it."""

    form: Reduction

    @cached_property
    def split(self) -> tuple[Reduction, list[str]]:
        """Predicates are guards, and axes are split into blocks of layouts."""
        with tracing() as trace:
            return extract_predicates(split_groups(split_sums(self.form))), trace

    @cached_property
    def fused(self) -> tuple[Reduction, list[str]]:
        """Axes are fused if possible."""
        return _fused(self.split)

    @cached_property
    def formed(self) -> tuple[Reduction, list[str]]:
        """Predicates of products that may be NaN are guards, too."""
        windows, lines = self.split
        formed = extract_predicates(windows, formed=True)
        return _fused((formed, lines)) if formed is not windows else self.fused


def _prepared(form: Reduction) -> _Prepared:
    """The same object for the same form: rewrites of programs compare the costs of forms that are scheduled afterwards."""
    is_static = all(is_known(n) for _, n in (*form.loops, *form.inner))
    return _prepared_once(form) if is_static else _Prepared(form)  # a formula equals a number


_prepared_once = lru_cache(maxsize=256)(_Prepared)


def _fused(split: tuple[Reduction, list[str]]) -> tuple[Reduction, list[str]]:
    """The form with fused axes, and the primitives so far."""
    windows, lines = split
    with tracing() as trace:
        return fuse_sums(fuse_axes(windows)), [*lines, *trace]


class Strategy(ABC):
    """A way to schedule a stage. Stateless.

    `plevel`: strategies of a higher level win, whatever their costs, as in TVM's OpStrategy: schedules by hand, measured choices,
    and plug-ins that ask for it. Strategies of the same level compete by their costs.
    """

    name: ClassVar[str]
    plevel: ClassVar[int] = 10

    @abstractmethod
    def choose(self, stage: Stage) -> Candidate | None:
        """The candidate for a stage, with cost and reason; None if the strategy does not support the stage."""

    def variants(self, stage: Stage) -> Iterator[Candidate]:
        """The candidates that a measurement may compare: that of `choose` first, then others, each with a label of its own."""
        offer = self.choose(stage)
        if offer is not None:
            yield offer

    @abstractmethod
    def apply(self, stage: Stage, candidate: Candidate) -> Stmt:
        """The nest. Buffers of scope `GLOBAL` that are allocated outermost get a place in the kernel's workspace."""


strategies: Registry[type[Strategy]] = Registry("strategy", "irtool.schedule.strategies")
"""All strategies by name."""


def strategy(name: str, override: bool = False) -> Callable[[type[Strategy]], type[Strategy]]:
    """Class decorator that registers a strategy. Raises PluginError for a class from outside that is no strategy."""

    def register(cls: type[Strategy]) -> type[Strategy]:
        if is_outside(cls):
            adopt_strategy(cls, name, Strategy, Candidate)
        return strategies.register(name, override=override)(cls)

    return register


def offers_for(stage: Stage, refusals: list[str] | None = None) -> list[tuple[Strategy, Candidate]]:
    """The candidates that compete for a stage, cheapest first: those of the highest level at which any strategy supports it.

    Every stage has one; raises UsageError if the only one is switched off. `refusals` gets a line for each strategy that would need to
    know a length that only the run knows.
    """
    note_stage(stage)
    every = sorted(_enabled(), key=lambda s: (-s.plevel, s.name))
    for _, level in groupby(every, key=lambda s: s.plevel):
        offers = []
        for s in level:
            try:
                offer = s.choose(stage)
            except Undecided as doubt:
                if refusals is not None:
                    refusals.append(refusal(s, doubt))
                continue
            if offer is not None:
                offers.append((s, offer))
        if offers:
            return sorted(offers, key=lambda o: o[1].cost)
    if off := switched_off():
        raise UsageError(f"no strategy is left for stage {stage.number} of {stage.kernel}: {', '.join(off)} is off")
    raise AssertionError("loops are for every stage")


def refusal(strategy: Strategy, doubt: Undecided) -> str:
    """The reason for which a strategy does not schedule a stage."""
    return f"{strategy.name} depends on a length: {doubt}"


def choose_strategy(stage: Stage) -> tuple[Strategy, Candidate]:
    """The winning strategy for a stage, with its candidate: the first of `offers_for`."""
    return offers_for(stage)[0]


def estimated_cost(stage: Stage) -> float:
    """The cost of a stage without measured choices, which count for stages in their final form only.

    Rewrites before scheduling compare such costs, so that a table of measurements has no influence on the keys of stages.
    """
    with tuned({}):
        return choose_strategy(stage)[1].cost


def _enabled() -> Iterator[Strategy]:
    """The strategies that are not switched off."""
    return (cls() for cls in strategies if is_on(cls.name))


def label_of(strategy: Strategy, candidate: Candidate) -> str:
    """The name of an offer among all for the same stage: `register_tile: axis 1, tile 8 x 2 x 16`."""
    return f"{strategy.name}: {candidate.label or candidate.reason}"


def stage_variants(stage: Stage) -> Iterator[tuple[Strategy, Candidate]]:
    """Every candidate for a stage that a measurement may compare: those of strategies of the usual level, sorted by name."""
    for s in sorted(_enabled(), key=lambda s: s.name):
        if s.plevel == Strategy.plevel:
            yield from ((s, offer) for offer in s.variants(stage))


def find_variant(stage: Stage, label: str) -> tuple[Strategy, Candidate] | None:
    """The candidate with that label; None if no strategy offers it."""
    return next((variant for variant in stage_variants(stage) if label_of(*variant) == label), None)
