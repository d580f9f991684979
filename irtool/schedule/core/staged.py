"""One stage of a kernel split into several by `attention`, `winograd`, `strassen` or `partition_windows`.

The nest has a place for each of the new stages. They are scheduled by name, as blocks of their own, like the fills of a copy::

    for block: for tile: <data>          data:     vectorize(v)
               <product>                 product:  split(o, [1, 4, 16], …), cache_write(tile_t), …
               for tile: <out>           out:      vectorize(v)

A stage with several places, such as the inside and the border of an image, has one schedule for all of them.
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
from .nest_lengths import NestLengths


class StagePlace(Stmt):
    """The place of a stage in a nest."""

    __slots__ = ("name", "number")

    def __init__(self, name: str, number: int) -> None:
        self.name = name
        self.number = number


@dataclass(frozen=True)
class NamedStage:
    """A stage of a nest: the form at each of its places. `private`: threads share the loops around it, and none of its own."""

    name: str
    forms: tuple[Map | Reduction, ...]
    private: bool


@dataclass(frozen=True, eq=False)
class StagedNest:
    """A nest of several stages.

    Attributes:
        body: the loops, conditions and buffers around the stages, with a `StagePlace` for each of them.
        stages: the stages, in order.
        lengths: lengths of tiles that steps of the loops decide.
    """

    body: Stmt
    stages: tuple[NamedStage, ...]
    lengths: NestLengths = field(default_factory=NestLengths)

    def stage(self, name: str) -> NamedStage:
        """The stage of that name. Raises UsageError for an unknown name."""
        for s in self.stages:
            if s.name == name:
                return s
        names = [s.name for s in self.stages]
        raise UsageError(
            f"the nest has no stage {name}", help=nearest(name, names) or f"stages: {', '.join(names) or 'none'}"
        )

    def lower(self, nests: Mapping[str, Sequence[Stmt]]) -> Stmt:
        """The full nest, with `nests` in the places of stages, one for each place; stages that are not in `nests` become plain
        loops.

        Buffers in the workspace are outermost.
        """
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
        return with_workspace([*outer, *buffers], self.lengths.settled(_settle_registers(body, registers)))


@dataclass(frozen=True)
class StagedPlan:
    """One way to split a stage into several.

    Attributes:
        cost: cycles for each update.
        reason: the reason for the plan, as `--explain` prints it.
        label: its name among the plans for the same stage.
        arguments: the arguments of the primitive.
        target: the processor that the new stages are scheduled for.
    """

    cost: float
    reason: str
    label: str
    arguments: Mapping[str, int]
    target: VectorTarget


@dataclass(frozen=True, eq=False)
class StagedForm(Steps):
    """A stage that is scheduled as several. `body`: the nest of one plan, with plain loops.

    `target`: the processor of that plan; other processors for which a library has code get plans of their own. `nests`: the nests
    built so far, by their tiling.
    """

    target: VectorTarget
    nests: dict[Any, StagedNest] = field(default_factory=dict, repr=False, kw_only=True)

    def plans(self, target: VectorTarget) -> Iterator[StagedPlan]:
        """The plans for a processor, best first."""
        raise NotImplementedError


class Tiling(Protocol):
    """A way to divide a stage."""

    @property
    def label(self) -> str:
        """The name of the tiling among those for the same stage."""


AnyTiling = TypeVar("AnyTiling", bound=Tiling)


@dataclass(frozen=True)
class TwoThreads:
    """The cost of a plan for two threads.

    Attributes:
        share: the share of all cycles that the slower thread has.
        handed: bytes that each thread reads and the other one wrote.
        memory: cycles of one thread in which weights come from memory.
    """

    share: float
    handed: float
    memory: float

    def cycles(self, one: float) -> float:
        """Cycles of two threads for a plan that takes one thread `one` cycles."""
        return one * self.share + self.handed * REWRITTEN_BYTE + self.memory * MEMORY_CONTENTION


ALONE = TwoThreads(0.5, 0, 0)
"""The cost of a stage too small to be shared: all plans are equal for two threads."""


def of_two(parts: int, handed: float, memory: float, each: float = 0.0) -> TwoThreads:
    """The cost of a plan for two threads.

    One thread alone has the last one of an odd number of equal parts, and with few parts a thread cannot take over from a late
    one.

    Args:
        parts: the number of equal parts.
        handed: bytes that each of the threads writes a half of, and both read.
        memory: cycles of one thread in which weights come from memory.
        each: the share of all cycles that each thread spends on work that is not divided.
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
    """The plan with the label `label`, whatever its cost; without one, the plan of the fewest cycles within the limit.

    A plan is excluded if two threads lose by it what one gains. Among plans of similar cycles, the result has the smallest
    product of the cycles of one thread and of two: one of them gains more than the other loses. Plans for which `fits` is true
    make no program larger; they come before all others but much faster ones.
    """
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
    """A stage whose plans are tilings. Its operands were packed for `tiling`, and fit some others."""

    tiling: AnyTiling

    @abstractmethod
    def make(self, t: AnyTiling) -> StagedNest:
        """The nest of a plan."""

    @abstractmethod
    def fitting(self, target: VectorTarget) -> Sequence[AnyTiling]:
        """The plans for a processor that fit the packed operands, best first."""

    @abstractmethod
    def priced(self, t: AnyTiling, target: VectorTarget) -> StagedPlan:
        """The plan of a tiling, with its cost and its reason."""

    def nest(self, t: AnyTiling) -> StagedNest:
        """The nest of a plan; built once."""
        if t not in self.nests:
            self.nests[t] = self.make(t)
        return self.nests[t]

    def plans(self, target: VectorTarget) -> Iterator[StagedPlan]:
        """The plan of `tiling` if the processor is the same; then all others."""
        own = [self.tiling] if target == self.target else []
        for t in [*own, *(t for t in self.fitting(target) if t not in own)]:
            yield self.priced(t, target)


class StagedNestBuilder:
    """The stages of a nest under construction."""

    def __init__(self) -> None:
        self._stages: dict[str, list[Map | Reduction]] = {}
        self._private: set[str] = set()
        self.lengths = NestLengths()

    def free_name(self, base: str) -> str:
        """The name `base`, with a number if a stage has that name already."""
        name, n = base, 1
        while name in self._stages:
            name, n = f"{base}_{n}", n + 1
        return name

    def add(self, name: str, form: Map | Reduction, private: bool = True) -> StagePlace:
        """A new place of a stage; a known stage gets a further place."""
        forms = self._stages.setdefault(name, [])
        forms.append(form)
        if private:
            self._private.add(name)
        return StagePlace(name, len(forms) - 1)

    def add_map(self, name: str, loops: Sequence[Loop], stores: Sequence[Store]) -> StagePlace:
        """A new place of a stage that computes elements without a reduction."""
        return self.add(name, Map(tuple(loops), tuple(stores)))

    def nest(self, body: Stmt) -> StagedNest:
        """The nest with all stages added so far."""
        stages = (NamedStage(n, tuple(forms), n in self._private) for n, forms in self._stages.items())
        return StagedNest(body, tuple(stages), self.lengths)


def _plain_nest(form: Map | Reduction) -> Stmt:
    """The plain loops of a form; its guards become conditions."""
    return lower(Block.of(form)) if isinstance(form, Reduction) and form.guards else nest_of(form)


def is_shared(nest: Stmt) -> bool:
    """True if the nest has a parallel loop."""
    return any(isinstance(x, For) and x.kind == PARALLEL for x in pre_order(nest))


def _settle_registers(body: Stmt, registers: Set[Buffer]) -> Stmt:
    """The nest, with arrays in place of registers that some loop reads or writes element by element, not as vectors."""
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
