"""Stages computed by another algorithm, from weights that the build derives from the constant ones."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import inf, prod
from typing import Any, Generic, Protocol, TypeVar

from ...symbolic_int import Undecided, bound
from ...tir.elements import numbers
from ...tir.expansion import Expansion
from ...tir.expr import Load
from ...tir.forms import AnyForm, Reduction, buffers_read
from ...tir.kernel import Kernel
from ...tir.program import (
    TEMP,
    OpenQuestion,
    Program,
    RunKernel,
    Slot,
    constant_inputs,
    constants_in_use,
)
from ...tir.stmt import Buffer, Layout
from ...tir.vector_target import VectorTarget
from ..core.program_rewriter import ProgramRewriter
from ..cost.machine import FLOAT32_BYTES
from ..scripts.script import Entry, entry_for
from ..strategies.base import Stage


@dataclass(frozen=True)
class DerivedWeights:
    """Weights that the build derives from others.

    Attributes:
        name: the suffix of their names.
        shape: their shape.
        how: all inputs of `compute`.
        compute: the derived array, from an array and its layout (None: row-major).
        plain: the same elements before they are combined, (blocks, columns of `matrix`, elements of a row), in the same way.
        matrix: the coefficients by which rows of `plain` are combined to those of the derived array (see `tir.expansion`).
    """

    name: str
    shape: tuple[int, ...]
    how: tuple[Any, ...]
    compute: Callable[[Any, Layout | None], Any]
    plain: Callable[[Any, Layout | None], Any]
    matrix: tuple[tuple[float, ...], ...]


class WeightedStage(Protocol):
    """A reduction that multiplies data and weights."""

    @property
    def weights(self) -> Buffer:
        """The weights."""

    @property
    def data(self) -> Load:
        """The other operand. Results cannot be stored in its place: its elements are read again after others are written."""

    @property
    def copies(self) -> int:
        """The number of stages before it that are no longer needed."""


AnyStage = TypeVar("AnyStage", bound=WeightedStage)
AnyPlan = TypeVar("AnyPlan")


@dataclass(frozen=True)
class Algorithm(Generic[AnyStage, AnyPlan]):
    """Another algorithm for stages with constant weights.

    Attributes:
        name: the name of its primitive and its strategy.
        find: the kernel's stage of a number as the algorithm needs it, with weights among some inputs; None if it does not apply.
        by_hand: the plan for the arguments of the primitive; None if it does not fit.
        choose: the best plan, or the plan with a label; None if the stage stays as it is. Its last argument is the number of
            bytes of workspace that make the program no larger.
        saved: the cycles that a plan saves; infinite for one that the target asks for.
        weights: the derived weights.
        form: the new stage, for the buffer of the derived weights.
        lesser: another plan, with fewer bytes of weights than the given one, that still saves cycles; None if there is none.
        suits: true if results are exact enough with these weights, a row-major array.
    """

    name: str
    find: Callable[[Sequence[AnyForm], int, Sequence[Buffer]], AnyStage | None]
    by_hand: Callable[..., AnyPlan | None]
    choose: Callable[[AnyStage, VectorTarget, str, float], AnyPlan | None]
    saved: Callable[[AnyStage, AnyPlan, VectorTarget], float]
    weights: Callable[[AnyStage, AnyPlan], DerivedWeights]
    form: Callable[[AnyStage, AnyPlan, Buffer, VectorTarget], AnyForm]
    lesser: Callable[[AnyStage, AnyPlan, VectorTarget, float], AnyPlan | None] = lambda *_: None
    suits: Callable[[AnyStage, Any], bool] = lambda stage, data: True

    def plan(
        self, k: Kernel, position: int, main: bool, stage: AnyStage, target: VectorTarget, stack_limit: float
    ) -> tuple[AnyPlan | None, float]:
        """The plan for a stage, from a script or by its cost, and the cycles that it saves, infinite for a script's; None if the stage
        stays as it is."""
        entry, offer = _asked_for(k, position, main, self.name, stage.copies)
        if entry is not None and entry.nest is not None:
            return entry.nest.with_arguments(lambda **arguments: self.by_hand(stage, **arguments)), inf
        plan = self.choose(stage, target, offer, stack_limit) if offer is not None else None
        return plan, inf if offer or plan is None else self.saved(stage, plan, target)


def _main_stage(k: Kernel, target: VectorTarget) -> int:
    """The number of the kernel's stage with the most work."""
    return max(range(len(k.stages)), key=lambda n: Stage(k.stages[n], target).work, default=0)


def _asked_for(k: Kernel, position: int, main: bool, name: str, copies: int = 0) -> tuple[Entry | None, str | None]:
    """The script's entry for a stage and the label of its candidate.

    The entry is given if it begins with the primitive `name`; otherwise None, with the label ("" without a script), or None if
    the script schedules the stage as it is. `copies`: stages before it that are no longer needed, and that a script does not
    count.
    """
    entry = entry_for(k.name, position - copies, main)
    if entry is not None and entry.nest is not None and entry.nest.name == name:
        return entry, None
    offer = entry.offer if entry is not None else ""
    if offer.startswith(f"{name}: "):
        return None, offer.removeprefix(f"{name}: ")
    by_hand = entry is not None or entry_for(k.name, position, main) is not None
    return None, None if by_hand else ""


def _constant_weights(k: Kernel, position: int, weights: Buffer) -> bool:
    """True if weights are finite, and only the stage at `position` reads them.

    The algorithm adds weights up: an infinite or NaN weight would spread to results that do not depend on it.
    """
    assert isinstance(k.stages[position], Reduction)
    return weights.finite and sum(weights in buffers_read(f) for f in k.stages) == 1


@dataclass(frozen=True, eq=False)
class _Replacement(Generic[AnyStage, AnyPlan]):
    """The stage at `position` of a kernel, in calls `runs`, with the plan that would replace it and the cycles that this saves in a call."""

    kernel: Kernel
    runs: list[RunKernel]
    position: int
    stage: AnyStage
    plan: AnyPlan
    weights: DerivedWeights
    saved: float
    stack_limit: float

    @property
    def sources(self) -> list[Slot]:
        """The constants that the calls give as its weights, each once."""
        number = self.kernel.inputs.index(self.stage.weights)
        return list(dict.fromkeys(run.inputs[number].resolve() for run in self.runs))

    @property
    def growth(self) -> int:
        """The bytes by which the derived weights exceed those that they are derived from."""
        derived = prod(self.weights.shape) * FLOAT32_BYTES
        return sum(max(0, derived - source.nbytes) for source in self.sources)

    def lesser(
        self, target: VectorTarget, algorithm: Algorithm[AnyStage, AnyPlan]
    ) -> _Replacement[AnyStage, AnyPlan] | None:
        """The replacement with fewer bytes of weights; None if the stage would stay as it is."""
        plan = algorithm.lesser(self.stage, self.plan, target, self.stack_limit)
        if plan is None:
            return None
        weights = algorithm.weights(self.stage, plan)
        other = replace(self, plan=plan, weights=weights, saved=algorithm.saved(self.stage, plan, target))
        return other if other.growth < self.growth else None


def derive_stages(program: Program, target: VectorTarget, algorithm: Algorithm[AnyStage, AnyPlan]) -> None:
    """Replaces stages by the algorithm in every open kernel, if that is faster; calls pass the derived constants for the
    weights. If these would grow beyond the target's limit, the stages that save fewest cycles for their bytes have lesser plans, or stay
    as they are."""
    replacements: list[_Replacement[AnyStage, AnyPlan]] = []
    with ProgramRewriter(program) as rewriter:
        most = max((_temporary_bytes(run) for of in rewriter.calls.values() for run in of), default=0)
        for k, of in rewriter.open_kernels():
            # A program without temporaries has no memory that a workspace could share.
            stack_limit = most - max(map(_temporary_bytes, of), default=0) if most else inf
            try:
                replacements += _replacements(k, of, target, algorithm, stack_limit)
            except Undecided as doubt:
                program.questions.append(OpenQuestion("", k.name, str(doubt)))
        within = _within_growth(replacements, constants_in_use(program), target, algorithm)
        for k, of_kernel in groupby(within, lambda r: r.kernel):
            try:
                for r in reversed([*of_kernel]):  # last to first: positions stay the same
                    k = _apply(r, k, target, algorithm, rewriter)
            except Undecided as doubt:
                program.questions.append(OpenQuestion("", k.name, str(doubt)))


def _within_growth(
    replacements: list[_Replacement[AnyStage, AnyPlan]],
    constants: Sequence[Slot],
    target: VectorTarget,
    algorithm: Algorithm[AnyStage, AnyPlan],
) -> list[_Replacement[AnyStage, AnyPlan]]:
    """Replacements whose weights together stay within the limit of growth, in order; all that scripts or the target ask for are there.

    Step by step, the replacement that loses fewest cycles for the bytes that become free gives way to its lesser one, or to none.
    """
    if target.growth is None:
        return replacements
    before = sum(max(0, c.nbytes - d.source.nbytes) for c in constants if (d := c.derivation) and d.expansion)
    limit = target.growth.limit(sum(c.nbytes for c in constants) - before)
    growth = before + sum(r.growth for r in replacements)
    current: list[_Replacement[AnyStage, AnyPlan] | None] = list(replacements)
    steps: list[tuple[float, int, _Replacement[AnyStage, AnyPlan] | None]] = []

    def offer(n: int) -> None:
        """Adds the next step of a replacement."""
        r = current[n]
        if r is not None and r.growth and r.saved < inf:
            other = r.lesser(target, algorithm)
            saved, grown = (other.saved, other.growth) if other is not None else (0.0, 0)
            heapq.heappush(steps, ((r.saved - saved) * len(r.runs) / (r.growth - grown), n, other))

    for n in range(len(current) if growth > limit else 0):
        offer(n)
    while growth > limit and steps:
        _, n, other = heapq.heappop(steps)
        r = current[n]
        assert r is not None
        growth -= r.growth - (other.growth if other is not None else 0)
        current[n] = other
        offer(n)
    return [r for r in current if r is not None]


def _temporary_bytes(run: RunKernel) -> int:
    """The bytes of the temporaries that a call reads and writes: a lower bound of the arena."""
    slots = {s.resolve(): None for s in (*run.inputs, *run.outputs)}
    return sum(bound(s.nbytes) for s in slots if s.kind == TEMP)


def _replacements(
    k: Kernel, runs: list[RunKernel], target: VectorTarget, algorithm: Algorithm[AnyStage, AnyPlan], stack_limit: float
) -> list[_Replacement[AnyStage, AnyPlan]]:
    """The stages of a kernel that the algorithm can replace, first to last."""
    constant, main = constant_inputs(runs), _main_stage(k, target)
    replacements: list[_Replacement[AnyStage, AnyPlan]] = []
    skipped = 0
    for position in range(len(k.stages)):
        stage = algorithm.find(k.stages, position, constant)
        if stage is None or not _constant_weights(k, position, stage.weights):
            continue
        plan, saved = algorithm.plan(k, position - skipped, position == main, stage, target, stack_limit)
        if plan is None:
            continue
        r = _Replacement(k, runs, position, stage, plan, algorithm.weights(stage, plan), saved, stack_limit)
        row_major = (_row_major(source, stage.weights.layout) for source in r.sources)
        if all(algorithm.suits(stage, unpack(numbers(s.data, s.dtype), layout)) for s, layout in row_major):
            replacements.append(r)
            skipped += stage.copies
    return replacements


def _apply(
    r: _Replacement[AnyStage, AnyPlan],
    k: Kernel,
    target: VectorTarget,
    algorithm: Algorithm[AnyStage, AnyPlan],
    rewriter: ProgramRewriter,
) -> Kernel:
    """Replaces the stage in `k`, which the calls run and whose stages up to it are those of `r.kernel`; the new kernel."""
    number, old = k.inputs.index(r.stage.weights), r.stage.weights
    new = old.replace(shape=r.weights.shape, dtype="float32")
    kernel = _replaced(k, r.position, r.stage, new, algorithm.form(r.stage, r.plan, new, target))
    for run in r.runs:
        run.inputs[number] = _derived(rewriter, run.inputs[number].resolve(), old.layout, r.weights)
    rewriter.replace(r.runs, kernel)
    return kernel


def _replaced(k: Kernel, position: int, stage: WeightedStage, weights: Buffer, form: AnyForm) -> Kernel:
    """The kernel with `form` in place of a stage, and with the buffer `weights` in place of its weights."""
    old, data = stage.weights, stage.data.source
    stages: list[AnyForm] = [*k.stages[: position - stage.copies], form, *k.stages[position + 1 :]]
    params = [weights if b is old else b for b in k.params]
    used = buffers_read(*stages)
    temporaries = [b for b in k.temporaries if b in used]
    in_place = [(i, o) for i, o in k.in_place if k.inputs[i] is not old and k.inputs[i] is not data]
    return k.replace(params=params, stages=stages, temporaries=temporaries, in_place=in_place)


def _derived(rewriter: ProgramRewriter, slot: Slot, layout: Layout | None, w: DerivedWeights) -> Slot:
    name = f"{slot.name.removesuffix('_packed')}_{w.name}"
    slot, layout = _row_major(slot, layout)
    dtype = slot.dtype

    def compute(data: Any) -> Any:
        return w.compute(numbers(data, dtype), layout)

    def plain(data: Any) -> Any:
        return w.plain(numbers(data, dtype), layout)

    blocks, _, *row = w.shape
    expansion = Expansion(w.matrix, blocks, prod(row), plain)
    return rewriter.derive(slot, (w.name, layout, *w.how), compute, w.shape, "float32", name, expansion)


def _row_major(slot: Slot, layout: Layout | None) -> tuple[Slot, Layout | None]:
    """The row-major source of a constant if the constant is packed in the given layout; otherwise the constant and the layout."""
    packed = slot.derivation
    if packed is not None and packed.how == ("packed", packed.source.shape, layout):
        return packed.source, None
    return slot, layout


def unpack(data: Any, layout: Layout | None) -> Any:
    """The row-major array for elements in the order of a layout (both have the same shape)."""
    import numpy as np

    if layout is None:
        return data
    axes = sorted((axis, -divisor, n) for n, (axis, divisor, _) in enumerate(layout))
    lying = np.asarray(data).reshape([extent for _, _, extent in layout])
    return np.ascontiguousarray(lying.transpose([n for _, _, n in axes])).reshape(data.shape)
