"""Stages computed by another algorithm, from weights that the build derives from the constant ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
)
from ...tir.stmt import Buffer, Layout
from ...tir.vector_target import VectorTarget
from ..core.program_rewriter import ProgramRewriter
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
        weights: the derived weights.
        form: the new stage, for the buffer of the derived weights.
        suits: true if results are exact enough with these weights, a row-major array.
    """

    name: str
    find: Callable[[Sequence[AnyForm], int, Sequence[Buffer]], AnyStage | None]
    by_hand: Callable[..., AnyPlan | None]
    choose: Callable[[AnyStage, VectorTarget, str, float], AnyPlan | None]
    weights: Callable[[AnyStage, AnyPlan], DerivedWeights]
    form: Callable[[AnyStage, AnyPlan, Buffer, VectorTarget], AnyForm]
    suits: Callable[[AnyStage, Any], bool] = lambda stage, data: True

    def plan(
        self, k: Kernel, position: int, main: bool, stage: AnyStage, target: VectorTarget, stack_limit: float
    ) -> AnyPlan | None:
        """The plan for a stage, from a script or by its cost; None if the stage stays as it is."""
        entry, offer = _asked_for(k, position, main, self.name, stage.copies)
        if entry is not None and entry.nest is not None:
            return entry.nest.with_arguments(lambda **arguments: self.by_hand(stage, **arguments))
        return self.choose(stage, target, offer, stack_limit) if offer is not None else None


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


def derive_stages(program: Program, target: VectorTarget, algorithm: Algorithm[AnyStage, AnyPlan]) -> None:
    """Replaces stages by the algorithm in every open kernel, if that is faster; calls pass the derived constants for the
    weights."""
    with ProgramRewriter(program) as rewriter:
        most = max((_temporary_bytes(run) for of in rewriter.calls.values() for run in of), default=0)
        for k, of in rewriter.open_kernels():
            # A program without temporaries has no memory that a workspace could share.
            stack_limit = most - max(map(_temporary_bytes, of), default=0) if most else inf
            try:
                _derive(k, of, target, algorithm, rewriter, stack_limit)
            except Undecided as doubt:
                program.questions.append(OpenQuestion("", k.name, str(doubt)))


def _temporary_bytes(run: RunKernel) -> int:
    """The bytes of the temporaries that a call reads and writes: a lower bound of the arena."""
    slots = {s.resolve(): None for s in (*run.inputs, *run.outputs)}
    return sum(bound(s.nbytes) for s in slots if s.kind == TEMP)


def _derive(
    k: Kernel,
    runs: list[RunKernel],
    target: VectorTarget,
    algorithm: Algorithm[AnyStage, AnyPlan],
    rewriter: ProgramRewriter,
    stack_limit: float,
) -> None:
    constant, main = constant_inputs(runs), _main_stage(k, target)
    position = -1
    while (position := position + 1) < len(k.stages):
        stage = algorithm.find(k.stages, position, constant)
        if stage is None or not _constant_weights(k, position, stage.weights):
            continue
        plan = algorithm.plan(k, position, position == main, stage, target, stack_limit)
        number = k.inputs.index(stage.weights)
        slots = (_row_major(s, stage.weights.layout) for s in {run.inputs[number].resolve(): None for run in runs})
        if plan is not None and all(
            algorithm.suits(stage, unpack(numbers(s.data, s.dtype), layout)) for s, layout in slots
        ):
            weights, old = algorithm.weights(stage, plan), stage.weights
            new = old.replace(shape=weights.shape, dtype="float32")
            changed = _replaced(k, position, stage, new, algorithm.form(stage, plan, new, target))
            for run in runs:
                run.inputs[number] = _derived(rewriter, run.inputs[number].resolve(), old.layout, weights)
            rewriter.replace(runs, changed)
            position -= stage.copies
            main -= stage.copies if main > position else 0
            k = changed


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
