"""Schedules for reductions in bands, each of which first fills a small buffer and then reads it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ....symbolic_int import bound
from ....tir.expr import Var
from ...core.block import Block
from ...core.forms import Map, Reduction
from ...cost.tile_choice import TileChoice
from ...primitives import copy, loop_partition, parallel, reorder, split
from ..base import Stage
from ..elementwise.strategy import Elementwise
from ..transpose.tiled_transpose import TiledTranspose
from .strategy import tile_reduction


@dataclass(frozen=True)
class StepBand:
    """A range of the steps of a loop: `count` bands of `size` steps, from `first` on."""

    loop: Var
    first: int
    size: int
    count: int


def bands(loop: Var, extent: int, size: int) -> list[StepBand]:
    """A loop in bands of `size` steps, and one for the remainder."""
    step_bands = [StepBand(loop, 0, size, extent // size)]
    return [*step_bands, StepBand(loop, extent // size * size, extent % size, 1)] if extent % size else step_bands


def cut_band(b: Block[Reduction], band: StepBand | None, outside: Sequence[Var]) -> tuple[Block[Reduction], int]:
    """A band of a reduction, and the number of loops outside of its copy.

    These are some axes, then the loop over bands, if there are several; the other loops are inside.
    """
    around = dict.fromkeys(outside)
    if band is not None:
        (b,) = loop_partition(b, band.loop, [(band.first, band.first + band.size * band.count)])
        if band.count != 1:
            b = split(b, b.over(band.loop)[0], [band.count, band.size], ["band", band.loop.name])
            around[b.over(band.loop)[0]] = None
    return reorder(b, [*around, *(x for x, _ in b.loops if x not in around)]), len(around)


def share(b: Block[Reduction], stage: Stage, around: int) -> Block[Reduction]:
    """The block with its outermost loop around the copy parallel, if the stage is large enough."""
    shared = around and stage.work >= stage.target.parallel_updates and not stage.serial
    return parallel(b, b.loops[0][0]) if shared else b


def is_private(b: Block[Any]) -> bool:
    """True if every step of the loops around a block has a copy of its own, on the stack: threads may share these loops, and none
    inside."""
    return bool(b.around and b.around[-1].loops and b.around[-1].is_local)


def fills(b: Block[Any]) -> list[tuple[str, Map | Reduction]]:
    """The forms that fill the copy, by name."""
    return [(name, f.form) for name, (f,) in b.around[-1].fills]


def tiles(b: Block[Reduction], stage: Stage) -> list[TileChoice] | None:
    """The register tiles of reductions that fill the copy, and of the one that reads it; None if one of them has no tile."""
    choices: list[TileChoice] = []
    for form in (*(f for _, f in fills(b)), b.form):
        tile = stage.tile_for(form) if isinstance(form, Reduction) else None
        if isinstance(form, Reduction):
            if tile is None:
                return None
            choices.append(tile)
    return choices


def schedule_band(b: Block[Reduction], chosen: Sequence[TileChoice], stage: Stage) -> list[Block[Reduction]]:
    """The block with the fills of its copy in vectors or tiles, and the reduction that reads the copy in tiles."""
    *first, last = chosen
    serial = stage.serial or is_private(b)
    waiting = iter(first)
    for name, form in fills(b):
        with copy(name):
            if isinstance(form, Reduction):
                b = b.with_fill(name, tile_reduction(Block.of(form), next(waiting), stage.target, serial))
            else:
                b = b.with_fill(name, _vectors(stage.inner(form, serial=serial)))
    return tile_reduction(b, last, stage.target, serial)


def _vectors(stage: Stage) -> list[Block[Map]]:
    transposed = TiledTranspose().choose(stage)
    if transposed is not None:
        return TiledTranspose().parts(stage, transposed)
    straight = Elementwise().choose(stage)
    assert straight is not None
    return Elementwise().parts(stage, straight)


def explained(b: Block[Any], chosen: Sequence[TileChoice]) -> str:
    """The reason for a band, as `--explain` prints it."""
    buffer = b.around[-1].buffer
    assert buffer is not None
    return f"a buffer of {buffer.nbytes} bytes, {chosen[-1].reason}"


def reuse(r: Reduction, parts: Sequence[Block[Any]]) -> float:
    """The number of reads of each element of a copy."""
    filled = 0
    for b in parts:
        times = math.prod(n for _, n, _ in b.around[-1].loops)
        filled += times * sum(math.prod(n for _, n in form.loops) for _, form in fills(b))
    return r.work / max(1, bound(filled))
