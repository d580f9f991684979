"""Stages that are computed otherwise than they are written, from weights that the build makes of the constant ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Generic, Protocol, TypeVar

from ...tir.elements import numbers
from ...tir.expr import Load
from ...tir.forms import AnyForm, Reduction, buffers_read
from ...tir.kernel import Kernel
from ...tir.program import (
    TEMP,
    Program,
    RunKernel,
    Slot,
    constant_inputs,
)
from ...tir.stmt import Buffer, Layout
from ...tir.vector_target import VectorTarget
from ..core.program_rewriter import ProgramRewriter
from ..scripts.script import Entry, entry_for
from ..strategies.base import Stage


@dataclass(frozen=True)
class DerivedWeights:
    """Weights made of others.

    Attributes:
        name: what tells them from the others, for people.
        shape: theirs.
        how: all inputs of `compute`.
        compute: from an array and the layout in which it lies (None: row-major).
    """

    name: str
    shape: tuple[int, ...]
    how: tuple[Any, ...]
    compute: Callable[[Any, Layout | None], Any]


class WeightedStage(Protocol):
    """A reduction that multiplies data and weights."""

    @property
    def weights(self) -> Buffer:
        """The weights."""

    @property
    def data(self) -> Load:
        """The other operand. Results cannot take its place: elements are read again after others are written."""

    @property
    def copies(self) -> int:
        """How many stages before it are not needed any more."""


AnyStage = TypeVar("AnyStage", bound=WeightedStage)
AnyPlan = TypeVar("AnyPlan")


@dataclass(frozen=True)
class Algorithm(Generic[AnyStage, AnyPlan]):
    """A way of computing stages otherwise than they are written.

    Attributes:
        name: of its primitive and its strategy.
        find: a kernel's stage of a number as what the algorithm computes, with weights among some inputs; None if it is none.
        by_hand: the plan that the arguments of the primitive describe; None if it does not fit.
        choose: the plan that pays, or the one with a label; None if the stage stays as it is. Its last argument is how many bytes
            of the workspace make the program no larger.
        weights: the derived weights.
        form: the stage, given the buffer of those.
        suits: whether results are exact enough with these weights, a row-major array.
    """

    name: str
    find: Callable[[Sequence[AnyForm], int, Sequence[Buffer]], AnyStage | None]
    by_hand: Callable[..., AnyPlan | None]
    choose: Callable[[AnyStage, VectorTarget, str, float], AnyPlan | None]
    weights: Callable[[AnyStage, AnyPlan], DerivedWeights]
    form: Callable[[AnyStage, AnyPlan, Buffer, VectorTarget], AnyForm]
    suits: Callable[[AnyStage, Any], bool] = lambda stage, data: True

    def plan(
        self, k: Kernel, at: int, main: bool, stage: AnyStage, target: VectorTarget, stack_limit: float
    ) -> AnyPlan | None:
        """The plan for a stage: the one that a script asks for, or what pays; None if it stays as it is."""
        entry, offer = _asked_for(k, at, main, self.name, stage.copies)
        if entry is not None and entry.nest is not None:
            return entry.nest.with_arguments(lambda **arguments: self.by_hand(stage, **arguments))
        return self.choose(stage, target, offer, stack_limit) if offer is not None else None


def _main_stage(k: Kernel, target: VectorTarget) -> int:
    """The number of a kernel's stage with the most work."""
    return max(range(len(k.stages)), key=lambda n: Stage(k.stages[n], target).work, default=0)


def _asked_for(k: Kernel, at: int, main: bool, name: str, copies: int = 0) -> tuple[Entry | None, str | None]:
    """What a script wants of a stage: its entry if that begins with the primitive `name`; else the label of the strategy's offer that
    it names ("" without a script), or None if the stage is scheduled by hand as it is. `copies` before it are no stages any more."""
    entry = entry_for(k.name, at - copies, main)
    if entry is not None and entry.nest is not None and entry.nest.name == name:
        return entry, None
    offer = entry.offer if entry is not None else ""
    if offer.startswith(f"{name}: "):
        return None, offer.removeprefix(f"{name}: ")
    by_hand = entry is not None or entry_for(k.name, at, main) is not None
    return None, None if by_hand else ""


def _constant_weights(k: Kernel, at: int, weights: Buffer) -> bool:
    """True if weights are finite, and nothing but the stage `at` reads them. Weights that are infinite or NaN make that of the results
    which they are multiplied for: sums with others would make more of it."""
    assert isinstance(k.stages[at], Reduction)
    return weights.finite and sum(weights in buffers_read(f) for f in k.stages) == 1


def derive_stages(program: Program, target: VectorTarget, algorithm: Algorithm[AnyStage, AnyPlan]) -> None:
    """Replaces the stages for which it pays in every kernel that is not finished, in all its calls, which give it constants for
    weights."""
    with ProgramRewriter(program) as rewriter:
        most = max((_temporary_bytes(run) for of in rewriter.calls.values() for run in of), default=0)
        for k, of in rewriter.open_kernels():
            # Without a temporary there is no memory that a workspace could be in at other times.
            stack_limit = most - max(map(_temporary_bytes, of), default=0) if most else inf
            _derive(k, of, target, algorithm, rewriter, stack_limit)


def _temporary_bytes(run: RunKernel) -> int:
    """Bytes of the temporaries that a call reads and writes: at least so much memory is taken then."""
    slots = {s.resolve(): None for s in (*run.inputs, *run.outputs)}
    return sum(s.nbytes for s in slots if s.kind == TEMP)


def _derive(
    k: Kernel,
    runs: list[RunKernel],
    target: VectorTarget,
    algorithm: Algorithm[AnyStage, AnyPlan],
    rewriter: ProgramRewriter,
    stack_limit: float,
) -> None:
    constant, main = constant_inputs(runs), _main_stage(k, target)
    at = -1
    while (at := at + 1) < len(k.stages):
        stage = algorithm.find(k.stages, at, constant)
        if stage is None or not _constant_weights(k, at, stage.weights):
            continue
        plan = algorithm.plan(k, at, at == main, stage, target, stack_limit)
        number = k.inputs.index(stage.weights)
        slots = (_row_major(s, stage.weights.layout) for s in {run.inputs[number].resolve(): None for run in runs})
        if plan is not None and all(
            algorithm.suits(stage, unpack(numbers(s.data, s.dtype), layout)) for s, layout in slots
        ):
            weights, old = algorithm.weights(stage, plan), stage.weights
            new = old.replace(shape=weights.shape, dtype="float32")
            changed = _replaced(k, at, stage, new, algorithm.form(stage, plan, new, target))
            for run in runs:
                run.inputs[number] = _derived(rewriter, run.inputs[number].resolve(), old.layout, weights)
            rewriter.replace(runs, changed)
            at -= stage.copies
            main -= stage.copies if main > at else 0
            k = changed


def _replaced(k: Kernel, at: int, stage: WeightedStage, weights: Buffer, form: AnyForm) -> Kernel:
    """The kernel with a form in the place of a stage, which reads other weights."""
    old, data = stage.weights, stage.data.source
    stages: list[AnyForm] = [*k.stages[: at - stage.copies], form, *k.stages[at + 1 :]]
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

    return rewriter.derive(slot, (w.name, layout, *w.how), compute, w.shape, "float32", name)


def _row_major(slot: Slot, layout: Layout | None) -> tuple[Slot, Layout | None]:
    """What a constant was packed of, if it was packed to the layout in which it lies; else itself, and the layout."""
    packed = slot.derivation
    if packed is not None and packed.how == ("packed", packed.source.shape, layout):
        return packed.source, None
    return slot, layout


def unpack(data: Any, layout: Layout | None) -> Any:
    """A row-major array of elements that lie in the order of a layout (of the same shape, so as flat memory)."""
    import numpy as np

    if layout is None:
        return data
    axes = sorted((axis, -divisor, n) for n, (axis, divisor, _) in enumerate(layout))
    lying = np.asarray(data).reshape([extent for _, _, extent in layout])
    return np.ascontiguousarray(lying.transpose([n for _, _, n in axes])).reshape(data.shape)
