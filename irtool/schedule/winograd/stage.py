"""Replaces convolutions by transformed ones, in a program whose layouts are chosen."""

from __future__ import annotations

from typing import Any

from ...tir.forms import AnyForm, buffers_read
from ...tir.kernel import Kernel
from ...tir.program import CONSTANT, Derivation, Program, RunKernel, Slot, constant_inputs, kernels_in_use, runs_of
from ...tir.stmt import Buffer
from ...tir.vector_target import VectorTarget
from ..script import entry_for
from ..strategies.base import Stage
from .choice import choose_tiling, tiling_by_hand
from .convolution import Convolution, find_convolution
from .form import TransformedTiles
from .tiling import Tiling
from .weights import transform_weights, unpack

_OFFER = "winograd: "


def transform_convolutions(program: Program, target: VectorTarget) -> None:
    """Every convolution for which it pays, in kernels whose weights are constants in all calls."""
    transformed: dict[tuple[Any, ...], Slot] = {}
    for k, runs in runs_of(program).items():
        chosen = None if k.finished else _found(k, runs, target)
        if chosen is not None:
            _replace(k, *chosen, runs, target, transformed)
    program.kernels = kernels_in_use(program)
    program.constants = [*program.constants, *transformed.values()]


def _found(k: Kernel, runs: list[RunKernel], target: VectorTarget) -> tuple[int, Convolution, Tiling] | None:
    """The number of a stage, what it computes, and how it is done; None if there is none. Weights that are infinite or NaN make
    that of the results which they are multiplied for: these are left alone."""
    constant = constant_inputs(runs)
    main = max(range(len(k.stages)), key=lambda n: Stage(k.stages[n], target).work, default=0)
    for at in range(len(k.stages)):
        c = find_convolution(k.stages, at, constant)
        if c is None or not c.weights.finite or sum(c.weights in buffers_read(f) for f in k.stages) != 1:
            continue
        tiling = _tiling(k.name, at, at == main, c, target)
        if tiling is not None:
            return at, c, tiling
    return None


def _tiling(kernel: str, at: int, main: bool, c: Convolution, target: VectorTarget) -> Tiling | None:
    """The plan for a stage: the one that a script asks for, or what pays; None where it stays as it is."""
    entry = entry_for(kernel, at - c.copy, main)  # the copy before it is no stage any more
    if entry is not None and entry.nest is not None and entry.nest.name == "winograd":
        return entry.nest.with_arguments(lambda **arguments: tiling_by_hand(c, **arguments))
    wanted = entry.offer if entry is not None else ""
    if not wanted.startswith(_OFFER) and (entry is not None or entry_for(kernel, at, main) is not None):
        return None  # the schedule by hand is one for the reduction as it is
    choice = choose_tiling(c, target, wanted.removeprefix(_OFFER))
    return choice.tiling if choice is not None else None


def _replace(
    k: Kernel,
    at: int,
    c: Convolution,
    t: Tiling,
    runs: list[RunKernel],
    target: VectorTarget,
    transformed: dict[tuple[Any, ...], Slot],
) -> None:
    """Gives the calls of a kernel one with a stage transformed, and transformed weights."""
    number = k.inputs.index(c.weights)
    shape = (c.filters[1] // t.filters, t.products, c.channel[1], t.filters)
    weights = Buffer(c.weights.name, shape, "float32", c.weights.scope, finite=c.weights.finite)
    form = TransformedTiles.of(c, t, weights, target)
    stages: list[AnyForm] = [*k.stages[: at - c.copy], form, *k.stages[at + 1 :]]
    params = [weights if b is c.weights else b for b in k.params]
    used = buffers_read(*stages)
    temporaries = [b for b in k.temporaries if b in used]
    windows = k.inputs.index(c.data.source) if c.data.source in k.inputs else -1
    in_place = [(i, o) for i, o in k.in_place if i not in (number, windows)]
    changed = k.replace(params=params, stages=stages, temporaries=temporaries, in_place=in_place)
    for s in runs:
        slot = s.inputs[number].resolve()
        key = (slot, c.weights.layout, c.order, t.size, t.filters)
        if key not in transformed:
            transformed[key] = _transformed(slot, shape, c, t)
        s.inputs[number] = transformed[key]
        s.kernel = changed


def _transformed(slot: Slot, shape: tuple[int, ...], c: Convolution, t: Tiling) -> Slot:
    """The constant of transformed weights."""
    layout, order, size, filters = c.weights.layout, c.order, t.size, t.filters
    name = f"{slot.name.removesuffix('_packed')}_transformed"
    packed = slot.derivation
    if packed is not None and packed.how == ("packed", packed.source.shape, layout):
        slot, layout = packed.source, None  # in row-major order already

    def compute(data: Any) -> Any:
        return transform_weights(unpack(data, layout), order, size, filters)

    how = ("transformed", layout, tuple(order), size, filters)
    return Slot(name, shape, "float32", CONSTANT, derivation=Derivation(slot, how, compute))
