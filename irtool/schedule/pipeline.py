"""The pipeline from a lowered program to memory planning: named stages in order, each with the reason for its place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from ..diagnostics import UsageError, nearest
from ..tir.forms import AnyForm
from ..tir.kernel import Kernel
from ..tir.program import TEMP, Program, constants_in_use, runs_of
from ..tir.vector_target import VectorTarget
from .constants.dedup_constants import dedup_constants
from .constants.finite_weights import FiniteWeights
from .constants.half_weights import halve_weights
from .constants.high_products import use_high_products
from .constants.narrow_constants import narrow_constants
from .constants.slice_constants import slice_constants
from .core.block_sums import block_sums
from .core.hoist_factors import hoist_factors
from .core.program_rewriter import replace_kernels
from .core.switches import is_on, switching_off
from .graph.bound_stack import bound_stack
from .graph.canonical_views import read_canonical_views
from .graph.fuse_copies import fuse_copies
from .graph.fuse_epilogues import fuse_epilogues
from .graph.fuse_kernels import fuse_kernels
from .graph.fuse_row_loops import fuse_row_loops
from .graph.keep_tails import keep_tails
from .graph.kernel import schedule_kernel
from .graph.materialize_views import materialize_views
from .graph.merge_block_sums import merge_block_sums
from .graph.read_copies import read_copies_in_place
from .graph.read_packed import read_packed_weights
from .graph.share_kernels import share_kernels
from .graph.share_loops import shared_kernels
from .graph.short_loops import mark_short_loops
from .graph.single_steps import map_single_steps
from .graph.split_groups import split_groups
from .graph.store_canonical_views import store_canonical_views
from .graph.store_narrow import store_narrow
from .graph.transpose_operands import transpose_operands
from .graph.truth_values import reduce_as_integers
from .graph.widen_float16 import widen_float16
from .instructions.elide_packing import elide_packing
from .instructions.packed_words import tensorize_packed_weights
from .instructions.store_shifted_bytes import store_shifted_bytes
from .instructions.tensorize import tensorize_products
from .layouts.stage import assign_layouts, row_major_slots
from .strategies.attention.find import fuse_attention
from .strategies.attention.softmax import flush_exponentials
from .strategies.base import strategies
from .strategies.strassen.stage import halve_products
from .strategies.winograd.stage import transform_convolutions
from .windows.partition_padded_windows import partition_padded_windows
from .windows.phases import decompose_phases, stores_vectors


@dataclass(frozen=True)
class ProgramStage:
    """A change of a whole program, in place.

    `vectors`: the stage is skipped on a target without vectors. `once`: its choices hold for all processors that a library is
    built for, which share the weights that it derives; such stages come before all others.
    """

    name: str
    reason: str
    run: Callable[[Program, VectorTarget], None]
    vectors: bool = False
    once: bool = False

    def applies(self, target: VectorTarget) -> bool:
        """True if the stage runs for this target: it is not switched off, and the target has vectors if the stage needs them."""
        return is_on(self.name) and (not self.vectors or target.vector_bytes > 0)


def _each_kernel(
    change: Callable[[Kernel, VectorTarget], Kernel], finished: bool = False
) -> Callable[[Program, VectorTarget], None]:
    """A stage that rewrites each kernel by itself; `finished`: kernels that are not scheduled, too."""

    def run(program: Program, target: VectorTarget) -> None:
        replace_kernels(program, lambda k: change(k, target), finished)

    return run


def _each_form(change: Callable[[AnyForm], AnyForm]) -> Callable[[Program, VectorTarget], None]:
    """A stage that rewrites the form of each stage of a kernel by itself."""
    return _each_kernel(lambda k, _: _with_stages(k, [change(form) for form in k.stages]))


def _decompose_phases(program: Program, target: VectorTarget) -> None:
    plain, runs = row_major_slots(program), runs_of(program)

    def decomposed(k: Kernel) -> Kernel:
        results = [slot.resolve() for s in runs.get(k, ()) for slot in s.outputs]
        blocks = all(slot.kind == TEMP and slot not in plain for slot in results)
        phases = decompose_phases(k)
        return phases if phases is k or stores_vectors(phases, target, blocks) else k

    replace_kernels(program, decomposed)


def _partition_padded_windows(program: Program, target: VectorTarget) -> None:
    finite = FiniteWeights(program)
    replace_kernels(program, lambda k: partition_padded_windows(k, finite.mark))


def _flush_exponentials(program: Program, target: VectorTarget) -> None:
    def flushed(k: Kernel) -> Kernel:
        if not any(o in ("nn.softmax", "nn.fast_softmax") for o in k.operators):
            return k  # only softmax may flush subnormal exponentials
        return _with_stages(k, flush_exponentials(k.stages, lambda b: b))

    replace_kernels(program, flushed)


def _note_finite_weights(program: Program, target: VectorTarget) -> None:
    replace_kernels(program, FiniteWeights(program).mark)


def _schedule_kernels(program: Program, target: VectorTarget) -> None:
    def scheduled(k: Kernel) -> Kernel:
        scheduled_kernel = schedule_kernel(k, target) if k.stages else k
        return scheduled_kernel.replace(native_halves=True) if target.native_halves > 1 else scheduled_kernel

    replace_kernels(program, scheduled, finished=True)


def _share_loops(program: Program, target: VectorTarget) -> None:
    shared = shared_kernels(program, target)
    replace_kernels(program, lambda k: shared[k], finished=True)


def _drop_constants(program: Program, target: VectorTarget) -> None:
    program.constants = constants_in_use(program)
    dedup_constants(program)
    program.constants = constants_in_use(program)


SCHEDULE: tuple[ProgramStage, ...] = (
    ProgramStage(
        "ReadPackedWeights",
        "unpacks weights and states of few bits where they are read; runs first, so that all other stages see the packed ones",
        read_packed_weights,
        once=True,
    ),
    ProgramStage(
        "HalfWeights",
        "stores matrices whose elements are all numbers of 16 bits in these; runs first, so that all other stages see what is stored",
        halve_weights,
        vectors=True,
        once=True,
    ),
    ProgramStage(
        "FuseEpilogues",
        "merges a kernel into the one kernel whose result it reads, past reshapes and transposes; runs before layouts are chosen",
        fuse_epilogues,
        vectors=True,
        once=True,
    ),
    ProgramStage(
        "ReadCopiesInPlace",
        "reads results and parameters in their own order, without a copy that gains its readers little; runs before attention is fused",
        read_copies_in_place,
        once=True,
    ),
    ProgramStage(
        "StoreNarrow",
        "stores temporaries before they are widened, where memory is scarce; runs before operands are packed and layouts are chosen",
        store_narrow,
        once=True,
    ),
    ProgramStage(
        "DecomposePhases",
        "splits each strided transposed convolution into one dense reduction per phase, which layouts and strategies support",
        _decompose_phases,
        once=True,
    ),
    ProgramStage(
        "PartitionPaddedWindows",
        "removes the steps of dilated windows that read padding only; runs before layouts, whose choice depends on the padding",
        _partition_padded_windows,
        vectors=True,
        once=True,
    ),
    ProgramStage(
        "SliceConstants",
        "gives stages their own slices of weights, without elements that no window reads; runs before layouts, so that each slice has its own",
        slice_constants,
        vectors=True,
        once=True,
    ),
    ProgramStage(
        "WidenHalves",
        "stores 16-bit floats as float32 if they are read more often than stored; runs before attention is fused, which needs products in float32",
        widen_float16,
        vectors=True,
        once=True,
    ),
    ProgramStage(
        "FuseAttention",
        "computes softmax(Q·K)·V tile by tile, some rows at a time; runs before layouts block the scores",
        fuse_attention,
        vectors=True,
        once=True,
    ),
    ProgramStage(
        "TensorizePackedWeights",
        "packs weights of 4 bits into words of eight, which a shift and a mask unpack for dot-product instructions; runs before layouts",
        tensorize_packed_weights,
        vectors=True,
        once=True,
    ),
    ProgramStage(
        "TensorizeProducts",
        "packs operands of 8-bit products into words of four, of bfloat16 products into words of two, for dot-product instructions; runs before layouts, which apply to words",
        tensorize_products,
        once=True,
    ),
    ProgramStage(
        "MergeBlockSums",
        "merges sums of products of bytes with the sum that reads them block by block, without memory for the blocks; runs before layouts",
        _each_kernel(merge_block_sums),
        vectors=True,
        once=True,
    ),
    ProgramStage(
        "HighProducts",
        "computes fixed-point products from the high halves of 64-bit products, where memory is scarce; runs before constants that are left are narrowed",
        use_high_products,
        once=True,
    ),
    ProgramStage(
        "NarrowConstants",
        "stores multipliers and shifts of fixed-point products in 32 bits, and broadcast ones once; runs before layouts block them",
        narrow_constants,
        vectors=True,
        once=True,
    ),
    ProgramStage(
        "StoreOwnShapes",
        "stores a tensor computed under another shape in the shape of its source; runs before the readers follow",
        store_canonical_views,
        vectors=True,
        once=True,
    ),
    ProgramStage(
        "ReadOwnShapes",
        "reads tensors in the shape of their producer, past reshapes; runs before layouts, which a tensor with several shapes cannot have",
        read_canonical_views,
        vectors=True,
        once=True,
    ),
    ProgramStage(
        "CopyOtherShapes",
        "copies the result of a convolution for readers of another shape, if Winograd will transform the convolution",
        materialize_views,
        vectors=True,
        once=True,
    ),
    ProgramStage(
        "PartGroups",
        "splits sums over groups of channels into sums over channels, which suit blocked layouts; runs after tensors are read in their own shape",
        _each_kernel(lambda k, _: split_groups(k)),
        vectors=True,
        once=True,
    ),
    ProgramStage(
        "ChooseLayouts",
        "assigns blocked layouts to temporaries and weights, as reductions read them; runs while each fused group is one kernel",
        assign_layouts,
        vectors=True,
        once=True,
    ),
    ProgramStage(
        "FuseKernels",
        "merges kernels over the same rows; runs after layouts, which define the rows, are final",
        fuse_kernels,
        vectors=True,
        once=True,
    ),
    ProgramStage(
        "StoreMovedBytes",
        "stores bytes shifted by 128 if an instruction needs the other signedness; runs after layouts decide which words are contiguous",
        store_shifted_bytes,
        vectors=True,
        once=True,
    ),
    ProgramStage(
        "ReadWordsInPlace",
        "reads operands in place of packing them if memory has the order of the words; runs after layouts are chosen and kernels merged",
        elide_packing,
        once=True,
    ),
    ProgramStage(
        "FuseCopies",
        "merges an elementwise kernel into the copy that its reader makes, where memory is scarce; runs after operands that memory has in order are not copied any more",
        fuse_copies,
        once=True,
    ),
    ProgramStage(
        "ShareKernels",
        "merges kernels that differ in scales and zero points only; runs after stages are final and before they are scheduled",
        share_kernels,
        once=True,
    ),
    ProgramStage(
        "FlushExponentials",
        "flushes subnormal exponentials of a softmax to zero, which softmax allows and which is faster; runs after stages are final",
        _flush_exponentials,
        once=True,
    ),
    ProgramStage(
        "MapSingleSteps",
        "computes sums of a single term, such as outer products, without an accumulator; runs after kernels are merged",
        _each_form(map_single_steps),
        once=True,
    ),
    ProgramStage(
        "KeepTails",
        "replaces 1 + erf(x) and similar sums by functions that keep the digits of results far below 1; runs after kernels are merged, which brings both operands into one",
        _each_form(keep_tails),
        once=True,
    ),
    ProgramStage(
        "ReduceAsIntegers",
        "computes any and all of truth values as extremes of integers, for which there are vectors; runs after kernels are merged",
        _each_form(reduce_as_integers),
        vectors=True,
        once=True,
    ),
    ProgramStage(
        "NoteFiniteWeights",
        "marks kernels with finite weights, whose strategies may skip padding (zero times finite is zero)",
        _note_finite_weights,
        once=True,
    ),
    ProgramStage(
        "TransformConvolutions",
        "computes convolutions with small windows by Winograd's algorithm if the estimate is lower; transforms the weights",
        transform_convolutions,
        vectors=True,
        once=True,
    ),
    ProgramStage(
        "HalveProducts",
        "computes large products with constant weights by Strassen's algorithm; Winograd convolutions are excluded (they are no longer products)",
        halve_products,
        vectors=True,
        once=True,
    ),
    ProgramStage(
        "TransposeOperands",
        "copies operands of products, and results of maps, with another axis innermost, or by phases, if no vector reads all operands; "
        "runs after layouts give most such an axis",
        _each_kernel(transpose_operands),
        vectors=True,
    ),
    ProgramStage(
        "ScheduleKernels",
        "chooses a strategy for each stage of a kernel: tiles, vectors, packed operands",
        _schedule_kernels,
    ),
    ProgramStage(
        "FuseRowLoops",
        "merges row loops of the stages of a kernel, so that a row stays in the L1 cache",
        _each_kernel(fuse_row_loops),
        vectors=True,
    ),
    ProgramStage(
        "HoistFactors",
        "multiplies parts of sums by factors of all of their terms, such as scales of blocks of weights; runs before long sums are divided",
        _each_kernel(hoist_factors, finished=True),
        vectors=True,
    ),
    ProgramStage(
        "BlockSums",
        "splits long sums of floats into blocks, under every strategy; runs before loops are shared, which does not split sums",
        _each_kernel(lambda k, _: block_sums(k), finished=True),
    ),
    ProgramStage(
        "ShareLoops",
        "gives parallel loops enough iterations for all threads, each of which reads what it wrote; runs after all other changes of loops",
        _share_loops,
    ),
    ProgramStage(
        "BoundStack",
        "moves arrays that exceed the stack to the workspace; runs after loops are final, which decide the arrays of each thread",
        bound_stack,
    ),
    ProgramStage(
        "MarkShortLoops",
        "marks short loops around the updates of a tile that C compilers must unroll, or must keep; runs after loops are final",
        _each_kernel(lambda k, _: mark_short_loops(k), finished=True),
        vectors=True,
    ),
    ProgramStage(
        "DropUnusedConstants",
        "removes the sources of packed weights and of constants evaluated during lowering, and deduplicates equal constants",
        _drop_constants,
    ),
)


def schedule_program(program: Program, target: VectorTarget) -> None:
    """Runs all stages of `SCHEDULE` that apply. Memory planning follows."""
    for stage in SCHEDULE:
        if stage.applies(target):
            stage.run(program, target)


def without(*names: str) -> AbstractContextManager[None]:
    """Context in which these stages do not run and these strategies are not chosen: `with without("FuseKernels", "winograd"): …`.

    For measurements and tests. If later stages depend on a stage, or no other strategy supports some kernels, builds fail without
    it; a missing strategy raises UsageError. Raises UsageError for a name that no stage and no strategy has.
    """
    strategies.load()
    known = [s.name for s in SCHEDULE] + [cls.name for cls in strategies]
    for name in names:
        if name not in known:
            raise UsageError(f"no stage and no strategy is called {name!r}", help=nearest(name, known))
    return switching_off(frozenset(names))


def _with_stages(kernel: Kernel, stages: Sequence[AnyForm]) -> Kernel:
    """The kernel with other stages; the kernel itself if all stages are the same."""
    changed = any(a is not b for a, b in zip(stages, kernel.stages, strict=True))
    return kernel.replace(stages=stages) if changed else kernel
