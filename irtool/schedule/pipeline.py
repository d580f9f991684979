"""What happens to a lowered program before its memory is planned: named stages in order, each with the reason for its place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..tir.kernel import Kernel
from ..tir.program import Program, RunKernel, constants_in_use, steps
from ..tir.vector_target import VectorTarget
from .finite_weights import note_finite_weights
from .fuse_kernels import fuse_kernels
from .fuse_row_loops import fuse_row_loops
from .kernel import schedule_kernel
from .layouts import assign_layouts
from .subpixel import decompose_subpixels
from .threads import share_loops, shared_sizes


@dataclass(frozen=True)
class ProgramStage:
    """A change of a whole program, in place.

    `vectors`: it only helps where there are vectors, and is left out on a target without.
    """

    name: str
    reason: str
    run: Callable[[Program, VectorTarget], None]
    vectors: bool = False

    def applies(self, target: VectorTarget) -> bool:
        """True if it is run for this target."""
        return not self.vectors or target.vector_bytes > 0


def _decompose_phases(program: Program, target: VectorTarget) -> None:
    _replace_kernels(program, decompose_subpixels)


def _schedule_kernels(program: Program, target: VectorTarget) -> None:
    _replace_kernels(program, lambda k: schedule_kernel(k, target))


def _fuse_row_loops(program: Program, target: VectorTarget) -> None:
    _replace_kernels(program, lambda k: fuse_row_loops(k, target))


def _share_loops(program: Program, target: VectorTarget) -> None:
    def shared(k: Kernel) -> Kernel:
        nests = k.nests if k.finished else [share_loops(n, target) for n in k.nests]
        return k.replace(nests=nests, shares={v: n for s in nests for v, n in shared_sizes(s, target).items()})

    _replace_kernels(program, shared, finished=True)


def _drop_constants(program: Program, target: VectorTarget) -> None:
    program.constants = constants_in_use(program)


SCHEDULE: tuple[ProgramStage, ...] = (
    ProgramStage(
        "DecomposePhases",
        "strided transposed convolutions become one dense reduction per phase, in the form that layouts and strategies know",
        _decompose_phases,
    ),
    ProgramStage(
        "ChooseLayouts",
        "temporaries and weights get the blocked layouts that reductions want; kernels are still one per fused group",
        assign_layouts,
        vectors=True,
    ),
    ProgramStage(
        "FuseKernels",
        "kernels that work row by row on the same rows become one; layouts, which decide what a row is, are known",
        fuse_kernels,
        vectors=True,
    ),
    ProgramStage(
        "NoteFiniteWeights",
        "the weights of each kernel are known, and strategies may leave out what padding adds: zeros times finite numbers",
        note_finite_weights,
    ),
    ProgramStage(
        "ScheduleKernels",
        "each stage of a kernel gets its strategy: tiles, vectors, packed operands",
        _schedule_kernels,
    ),
    ProgramStage(
        "FuseRowLoops",
        "stages that their strategies left in loops over the same rows share one; a row then stays in the nearest cache",
        _fuse_row_loops,
        vectors=True,
    ),
    ProgramStage(
        "ShareLoops",
        "the loops that threads share get enough steps for all of them, now that no loop changes any more",
        _share_loops,
    ),
    ProgramStage(
        "DropUnusedConstants",
        "weights that were packed, and what lowering evaluated, have left their sources behind",
        _drop_constants,
    ),
)


def schedule_program(program: Program, target: VectorTarget) -> None:
    """Runs all stages of `SCHEDULE` that apply. Memory is planned after this."""
    for stage in SCHEDULE:
        if stage.applies(target):
            stage.run(program, target)


def _replace_kernels(program: Program, change: Callable[[Kernel], Kernel], finished: bool = False) -> None:
    made = {id(k): k if k.finished and not finished else change(k) for k in program.kernels}
    program.kernels = [made[id(k)] for k in program.kernels]
    for f in program.functions.values():
        for s in steps(f.body):
            if isinstance(s, RunKernel):
                s.kernel = made[id(s.kernel)]
