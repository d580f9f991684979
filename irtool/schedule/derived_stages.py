"""Stages that are computed otherwise than they are written, from weights that the build makes of the constant ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ..tir.forms import AnyForm, Reduction, buffers_read
from ..tir.kernel import Kernel
from ..tir.program import CONSTANT, Derivation, Program, RunKernel, Slot, kernels_in_use, runs_of
from ..tir.stmt import Buffer, Layout
from ..tir.vector_target import VectorTarget
from .script import Entry, entry_for
from .strategies.base import Stage


@dataclass(frozen=True)
class DerivedWeights:
    """Weights made of others.

    Attributes:
        name: what tells them from the others, for people.
        shape: theirs.
        how: all that `compute` depends on.
        compute: from an array and the layout in which it lies (None: row-major).
    """

    name: str
    shape: tuple[int, ...]
    how: tuple[Any, ...]
    compute: Callable[[Any, Layout | None], Any]


@dataclass(frozen=True)
class DerivedStage:
    """What takes the place of a stage.

    Attributes:
        at: the number of the stage, and `copies`: how many before it are not needed any more.
        weights: the input that it does not read any more, and what is made of it.
        data: the buffer of the other operand. Results cannot take its place: elements are read again after others are written.
        form: the stage, given the buffer of the new weights.
    """

    at: int
    copies: int
    weights: Buffer
    derived: DerivedWeights
    data: Any
    form: Callable[[Buffer], AnyForm]


def main_stage(k: Kernel, target: VectorTarget) -> int:
    """The number of a kernel's stage with the most work."""
    return max(range(len(k.stages)), key=lambda n: Stage(k.stages[n], target).work, default=0)


def asked_for(k: Kernel, at: int, main: bool, name: str, copies: int = 0) -> tuple[Entry | None, str | None]:
    """What a script wants of a stage: its entry if that begins with the primitive `name`; else the label of the strategy's offer that
    it names ("" without a script), or None if the stage is scheduled by hand as it is. `copies` before it are no stages any more."""
    entry = entry_for(k.name, at - copies, main)
    if entry is not None and entry.nest is not None and entry.nest.name == name:
        return entry, None
    wanted = entry.offer if entry is not None else ""
    if wanted.startswith(f"{name}: "):
        return None, wanted.removeprefix(f"{name}: ")
    by_hand = entry is not None or entry_for(k.name, at, main) is not None
    return None, None if by_hand else ""


def constant_weights(k: Kernel, at: int, weights: Buffer) -> bool:
    """True if weights are finite, and nothing but the stage `at` reads them. Weights that are infinite or NaN make that of the results
    which they are multiplied for: sums with others would make more of it."""
    assert isinstance(k.stages[at], Reduction)
    return weights.finite and sum(weights in buffers_read(f) for f in k.stages) == 1


def derive_stages(program: Program, find: Callable[[Kernel, list[RunKernel]], DerivedStage | None]) -> None:
    """Replaces one stage of every kernel that is not finished and has such a one, in all its calls."""
    made = _Made()
    for k, runs in runs_of(program).items():
        stage = None if k.finished else find(k, runs)
        if stage is not None:
            _replace(k, stage, runs, made)
    program.kernels = kernels_in_use(program)
    program.constants = [*program.constants, *made.slots()]


@dataclass
class _Made:
    """Constants that were made, by their sources and how."""

    by_source: dict[tuple[Any, ...], Slot] = field(default_factory=dict)

    def slot(self, source: Slot, layout: Layout | None, w: DerivedWeights) -> Slot:
        """The constant of derived weights."""
        key = (source, layout, *w.how)
        if key not in self.by_source:
            self.by_source[key] = _derived(source, layout, w)
        return self.by_source[key]

    def slots(self) -> Iterator[Slot]:
        """All of them, in the order in which they were made."""
        yield from self.by_source.values()


def _replace(k: Kernel, s: DerivedStage, runs: list[RunKernel], made: _Made) -> None:
    """Gives the calls of a kernel one with the stage replaced, and derived weights."""
    number = k.inputs.index(s.weights)
    new = Buffer(s.weights.name, s.derived.shape, "float32", s.weights.scope, finite=s.weights.finite)
    stages: list[AnyForm] = [*k.stages[: s.at - s.copies], s.form(new), *k.stages[s.at + 1 :]]
    params = [new if b is s.weights else b for b in k.params]
    used = buffers_read(*stages)
    temporaries = [b for b in k.temporaries if b in used]
    data = k.inputs.index(s.data) if s.data in k.inputs else -1
    in_place = [(i, o) for i, o in k.in_place if i not in (number, data)]
    changed = k.replace(params=params, stages=stages, temporaries=temporaries, in_place=in_place)
    for run in runs:
        run.inputs[number] = made.slot(run.inputs[number].resolve(), s.weights.layout, s.derived)
        run.kernel = changed


def _derived(slot: Slot, layout: Layout | None, w: DerivedWeights) -> Slot:
    name = f"{slot.name.removesuffix('_packed')}_{w.name}"
    packed = slot.derivation
    if packed is not None and packed.how == ("packed", packed.source.shape, layout):
        slot, layout = packed.source, None  # in row-major order already

    def compute(data: Any) -> Any:
        return w.compute(data, layout)

    return Slot(
        name,
        w.shape,
        "float32",
        CONSTANT,
        derivation=Derivation(slot, (w.name, layout, *w.how), compute),
    )


def unpack(data: Any, layout: Layout | None) -> Any:
    """A row-major array of elements that lie in the order of a layout (of the same shape, so as flat memory)."""
    import numpy as np

    if layout is None:
        return data
    axes = sorted((axis, -divisor, n) for n, (axis, divisor, _) in enumerate(layout))
    lying = np.asarray(data).reshape([extent for _, _, extent in layout])
    return np.ascontiguousarray(lying.transpose([n for _, _, n in axes])).reshape(data.shape)
