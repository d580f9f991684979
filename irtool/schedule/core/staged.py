"""One stage of a kernel split into several by `attention`, `winograd`, `strassen` or `partition_windows`.

The nest has a place for each of the new stages. They are scheduled by name, as blocks of their own, like what fills a copy::

    for block: for tile: <data>          data:     vectorize(v)
               <product>                 product:  split(o, [1, 4, 16], …), cache_write(tile_t), …
               for tile: <out>           out:      vectorize(v)

A stage that stands at several places, such as the inside and the border of an image, has one schedule for all of them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from ...diagnostics import UsageError, nearest
from ...tir.buffers import replace_buffers
from ...tir.expr import Load, post_order
from ...tir.forms import Steps, nest_of, with_workspace, workspace
from ...tir.stmt import (
    PARALLEL,
    VECTORIZED,
    Allocate,
    Buffer,
    For,
    Scope,
    Stmt,
    Store,
    children,
    expressions,
    pre_order,
    rewrite_stmt,
)
from ...tir.vector_target import VectorTarget
from ..cost.machine import ALIKE, LATE_SHARE, MEMORY_CONTENTION, MEMORY_WORTH, REWRITTEN_BYTE
from .block import Block
from .forms import Loop, Map, Reduction
from .nest import lower


class StagePlace(Stmt):
    """Where a stage stands in a nest."""

    __slots__ = ("name", "number")

    def __init__(self, name: str, number: int) -> None:
        self.name = name
        self.number = number


@dataclass(frozen=True)
class NamedStage:
    """A stage of a nest: what is computed at each of its places. `private`: threads share the loops around it, and none of its own."""

    name: str
    forms: tuple[Map | Reduction, ...]
    private: bool


@dataclass(frozen=True, eq=False)
class StagedNest:
    """A nest of several stages.

    Attributes:
        body: the loops, conditions and buffers around the stages, with a `StagePlace` for each of them.
        stages: the stages, in order.
    """

    body: Stmt
    stages: tuple[NamedStage, ...]

    def stage(self, name: str) -> NamedStage:
        """The stage of that name. Raises UsageError if there is none."""
        for s in self.stages:
            if s.name == name:
                return s
        names = [s.name for s in self.stages]
        raise UsageError(
            f"the nest has no stage {name}", help=nearest(name, names) or f"stages: {', '.join(names) or 'none'}"
        )

    def lower(self, nests: Mapping[str, Sequence[Stmt]]) -> Stmt:
        """The whole nest, given those of its stages, one for each place; what nobody scheduled stays as plain loops. Buffers in the
        workspace are outermost."""
        lowered: dict[str, list[Stmt]] = {}
        buffers: list[Buffer] = []
        for s in self.stages:
            lowered[s.name] = []
            for nest in nests.get(s.name) or map(_plain_nest, s.forms):
                assert not (s.private and is_shared(nest)), f"threads share the loops around {s.name}"
                own, nest = workspace(nest)
                buffers += own
                lowered[s.name].append(nest)
        outer, body = workspace(self.body)
        registers = {s.buffer for s in pre_order(body) if isinstance(s, Allocate) and s.buffer.scope == Scope.REGISTER}
        body = rewrite_stmt(body, lambda x: lowered[x.name][x.number] if isinstance(x, StagePlace) else x)
        return with_workspace([*outer, *buffers], _settle_registers(body, registers))


@dataclass(frozen=True)
class StagedPlan:
    """How a primitive may make several stages of one.

    Attributes:
        cost: cycles for each update.
        reason: the reason for it, for people.
        label: its name among the plans for the same stage.
        arguments: of the primitive.
        target: the processor that the new stages are scheduled for.
    """

    cost: float
    reason: str
    label: str
    arguments: Mapping[str, int]
    target: VectorTarget


@dataclass(frozen=True, eq=False)
class StagedForm(Steps):
    """A stage that is scheduled as several. `body` is the nest of one plan, with plain loops; `target`: the processor that it was
    for. Others, of which a library may have code too, get plans of their own. `nests`: those that were made, by their tiling."""

    target: VectorTarget
    nests: dict[Any, StagedNest] = field(default_factory=dict, repr=False, kw_only=True)

    def plans(self, target: VectorTarget) -> Iterator[StagedPlan]:
        """The plans for a processor, best first."""
        raise NotImplementedError


class Tiling(Protocol):
    """How a stage is divided."""

    @property
    def label(self) -> str:
        """What tells it from others for the same stage."""


AnyTiling = TypeVar("AnyTiling", bound=Tiling)


@dataclass(frozen=True)
class TwoThreads:
    """What two threads make of a plan.

    Attributes:
        share: of the cycles, what one of them has, at most.
        handed: bytes that each of them reads and the other wrote.
        memory: cycles of one thread in which weights come from memory.
    """

    share: float
    handed: float
    memory: float

    def cycles(self, one: float) -> float:
        """Cycles for what takes one thread so many."""
        return one * self.share + self.handed * REWRITTEN_BYTE + self.memory * MEMORY_CONTENTION


ALONE = TwoThreads(0.5, 0, 0)
"""What is too little to be shared: no plan is better than another for it."""


def of_two(parts: int, handed: float, memory: float, each: float = 0.0) -> TwoThreads:
    """What two threads make of a plan: the last one of an odd number of equal parts is for one of them alone, and few parts leave nothing
    to take over from a thread that is late.

    Args:
        handed: bytes that each of them writes a half of, and both read.
        memory: cycles of one thread in which weights come from memory.
        each: of all cycles, the share of what each of them does in full.
    """
    share = (-(-parts // 2) + LATE_SHARE) / parts
    return TwoThreads(each + (1 - each) * share, handed / 2, memory)


def choose_plan(
    plans: Sequence[AnyTiling],
    label: str,
    cycles: Callable[[AnyTiling], float],
    shared: Callable[[AnyTiling], TwoThreads],
    limit: float,
    fits: Callable[[AnyTiling], bool],
) -> AnyTiling | None:
    """The plan with the label `label`, whatever it costs; without one, that of the fewest cycles, if these are no more than the limit,
    of those that do not cost two threads, as `shared` has them, what one gains. Of plans that are alike, the one with the smallest
    product of the cycles of one thread and of two: what one of them loses is less than what the other gains. Those that `fits` is true
    of, which make no program larger, come before all others but much faster ones."""
    named = [t for t in plans if t.label == label]
    if named or not plans:
        return named[0] if named else None
    costs = [(cycles(t), t) for t in plans]
    costs = [(cost, t) for cost, t in costs if cost <= limit and cost * (0.5 + shared(t).share) <= ALIKE * limit]
    if not costs:
        return None
    most = MEMORY_WORTH * min(cost for cost, _ in costs)
    fair = [(cost, t) for cost, t in costs if fits(t) and cost <= most] or costs
    least = min(cost for cost, _ in fair)
    alike = [(cost, t) for cost, t in fair if cost <= ALIKE * least]
    return min(alike, key=lambda x: (x[0] * shared(x[1]).cycles(x[0]), x[0]))[1]


class TiledForm(StagedForm, Generic[AnyTiling]):
    """A stage whose plans are tilings. What it reads was made for one of them, `tiling`, and fits some others."""

    tiling: AnyTiling

    @abstractmethod
    def make(self, t: AnyTiling) -> StagedNest:
        """The nest of a plan."""

    @abstractmethod
    def fitting(self, target: VectorTarget) -> Sequence[AnyTiling]:
        """The plans for a processor that take what was made, best first."""

    @abstractmethod
    def priced(self, t: AnyTiling, target: VectorTarget) -> StagedPlan:
        """A plan with its cost and its reason."""

    def nest(self, t: AnyTiling) -> StagedNest:
        """The nest of a plan; it is made once."""
        if t not in self.nests:
            self.nests[t] = self.make(t)
        return self.nests[t]

    def plans(self, target: VectorTarget) -> Iterator[StagedPlan]:
        """Its own plan on its own processor; then others."""
        own = [self.tiling] if target == self.target else []
        for t in [*own, *(t for t in self.fitting(target) if t not in own)]:
            yield self.priced(t, target)


class StagedNestBuilder:
    """The stages of a nest that is being made."""

    def __init__(self) -> None:
        self._stages: dict[str, list[Map | Reduction]] = {}
        self._private: set[str] = set()

    def free_name(self, base: str) -> str:
        """The name, or that name with a number, which no stage has yet."""
        name, n = base, 1
        while name in self._stages:
            name, n = f"{base}_{n}", n + 1
        return name

    def add(self, name: str, form: Map | Reduction, private: bool = True) -> StagePlace:
        """The place of a stage; one that is there already has a further place."""
        forms = self._stages.setdefault(name, [])
        forms.append(form)
        if private:
            self._private.add(name)
        return StagePlace(name, len(forms) - 1)

    def add_map(self, name: str, loops: Sequence[Loop], stores: Sequence[Store]) -> StagePlace:
        """The place of a stage that makes elements of its own in every step."""
        return self.add(name, Map(tuple(loops), tuple(stores)))

    def nest(self, body: Stmt) -> StagedNest:
        """The nest."""
        stages = (NamedStage(n, tuple(forms), n in self._private) for n, forms in self._stages.items())
        return StagedNest(body, tuple(stages))


def _plain_nest(form: Map | Reduction) -> Stmt:
    """The plain loops of a form, whose guards are conditions."""
    return lower(Block.of(form)) if isinstance(form, Reduction) and form.guards else nest_of(form)


def is_shared(nest: Stmt) -> bool:
    """True if threads share some loop."""
    return any(isinstance(x, For) and x.kind == PARALLEL for x in pre_order(nest))


def _settle_registers(body: Stmt, registers: Set[Buffer]) -> Stmt:
    """The nest, with arrays in the place of those registers that some loop reaches element by element, not as vectors."""
    arrays: dict[Buffer, Buffer] = {}
    stack = [body] if registers else []
    while stack:
        s = stack.pop()
        if isinstance(s, For) and s.kind == VECTORIZED:
            continue
        used = [e.source for e in post_order(*expressions(s)) if isinstance(e, Load)]
        used += [s.buffer] if isinstance(s, Store) else []
        arrays |= {b: b.replace(scope=Scope.LOCAL, layout=None) for b in used if b in registers and b not in arrays}
        stack += children(s)
    return replace_buffers(body, arrays)
