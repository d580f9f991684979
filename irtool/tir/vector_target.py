"""The processor model of lowering and schedules: its vectors, and the numbers by which nests are sized for it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from typing import Any

from ..diagnostics import UsageError
from . import dtypes
from .pools import Pool

MOST_THREADS = 64
"""The most threads that a run may have."""


def size(default: float, unit: str, meaning: str, most: int = (1 << 40) - 1) -> Any:
    """A field of `VectorTarget`: a number of a unit, at most `most`."""
    return field(default=default, metadata={"unit": unit, "meaning": meaning, "most": most})


MOST_LANES = 64
"""Most elements of a vector: bytes, in the widest registers."""


@dataclass(frozen=True)
class DotInstruction:
    """The instruction of a processor for a dot product of words.

    Attributes:
        function: the dot product's name, such as `dot4_u8s8`.
        depth: products that an instruction adds to each sum.
        cost: instructions for each sum.
        moved_to: the dtype that the first factor's bytes are shifted to; empty where they are taken as they are.
    """

    function: str
    depth: int
    cost: int
    moved_to: str = ""


@dataclass(frozen=True)
class WeightGrowth:
    """The most bytes by which weights in forms with more elements may exceed plain ones: a share of the plain bytes, but at least `least`."""

    share: float
    least: int

    def limit(self, plain: int) -> float:
        """The limit for weights of so many plain bytes."""
        return max(self.share * plain, self.least)


@dataclass(frozen=True)
class VectorTarget:
    """A processor core with vectors.

    `vector_bytes` and `registers` come from the compiler; the others are those of current cores, and were found by measuring.
    `SIZES` has the unit and the meaning of each.
    """

    vector_bytes: int = size(16, "bytes", "width of a vector register; 0: scalar code only")
    registers: int = size(16, "registers", "vector registers")
    _: KW_ONLY
    latency: int = size(4, "cycles", "latency of a multiply-add")
    multiply_adds: int = size(2, "per cycle", "vector multiply-adds started")
    loads: int = size(2, "per cycle", "vector loads started")
    stack_bytes: int = size(
        1 << 16,
        "bytes",
        "most stack that a run takes, with all that it calls; arrays that would exceed it lie in the workspace",
    )
    scratch_bytes: int = size(
        1 << 15, "bytes", "largest buffer that a thread has for itself (to stay in the L1 cache)", 1 << 18
    )
    threads: int = size(
        1, "threads", "most threads of a run: each has a part of the workspace for its buffers", MOST_THREADS
    )
    packed_bytes: int = size(1 << 18, "bytes", "largest packed operand in the workspace (to stay in the L2 cache)")
    l1_cache_bytes: int = size(1 << 15, "bytes", "largest operand that is not prefetched (it stays in the L1 cache)")
    l2_cache_bytes: int = size(
        1 << 20,
        "bytes",
        "the L2 cache of a core; half of it is for one operand, or for the transformed tiles or the sums of a thread",
    )
    prefetched_tiles: int = size(
        64, "tiles", "most tiles of rows for which the next columns are prefetched; more tiles give memory enough time"
    )
    streamed_bytes: int = size(
        1 << 21, "bytes", "most data for processing several rows at once; above it, a single stream is fastest"
    )
    tiles_bytes: int = size(
        1 << 17,
        "bytes",
        "largest results of transformed tiles or of halves, and tiles of an attention, per thread (to stay in the L2 cache)",
    )
    transformed_updates: int = size(
        1 << 18,
        "updates",
        "smallest convolution that may be computed from transformed tiles, and smallest product of halves",
    )
    parallel_updates: int = size(1 << 15, "updates", "smallest reduction shared among threads")
    parallel_elements: int = size(1 << 13, "elements", "smallest map shared among threads")
    most_parts: int = size(32, "parts", "most parts of a loop shared among threads: several per core")
    least_parts: int = size(4, "parts", "fewest parts of a loop shared among threads, however small")
    joined_parts: int = size(
        8, "parts", "fewest steps of a loop over columns that all rows share; threads then share its steps only"
    )
    part_stores: int = size(
        1 << 14, "stores", "smallest further part: about a microsecond, long compared with the cost of dispatching it"
    )
    interleaved_rows: int = size(
        4, "rows", "rows per stage before the next stage runs: one hides the latency of another"
    )
    unrolled_updates: int = size(160, "updates", "longest straight-line code of a register tile with guarded reads")
    blocked_updates: int = size(1 << 12, "updates", "smallest reduction to get operands in blocked layouts")
    copied_steps: int = size(8, "steps", "shortest loop for which copying a matrix beats narrow blocks of it")
    band_results: int = size(
        128, "results", "fewest results per output channel in a band of rows; each band reads the weights once"
    )
    copy_cost: int = size(8, "updates", "cost of copying one element of an operand")
    copied_reads: float = size(1.5, "reads", "fewest reads of each element that make a copy worthwhile")
    guarded_reads: int = size(10, "reads", "most guarded reads of each padded element; above it, a padded copy is made")
    paired_products: int = size(
        1,
        "per lane",
        "products of bfloat16 numbers that an instruction adds to each sum; 1: no such instruction",
        2,
    )
    wide_products: int = size(
        1,
        "per lane",
        "products of 16-bit integers that an instruction adds to a 32-bit sum; 1: no such instruction",
        2,
    )
    native_halves: int = size(
        1,
        "per lane",
        "float16 numbers that are computed in a lane of 32 bits; 1: they are widened to float32",
        2,
    )
    product_rows: int = size(
        1,
        "rows",
        "rows, and columns, of the product of byte matrices that an instruction computes; 1: no such instruction",
        2,
    )
    summed_products: int = size(
        1,
        "per instruction",
        "products of 8-bit numbers that an instruction adds to a single sum of vectors; 1: no such instruction",
        16,
    )
    word_products: int = size(
        1,
        "per instruction",
        "products of 8-bit numbers that an instruction without vectors adds; 1: no such instruction",
        4,
    )
    byte_tiles: int = size(1, "rows", "rows of a matrix tile of 8-bit numbers; 1: no such tiles", 16)
    pair_tiles: int = size(1, "rows", "rows of a matrix tile of bfloat16 numbers; 1: no such tiles", 16)
    scalar_results: int = size(1, "results", "results that a tile without vectors keeps in registers; 1: no tiles", 16)
    recomputed_cost: int = size(12, "operations", "most extra work per element for recomputing it in each reader")
    dots: tuple[DotInstruction, ...] = ()
    """The dot products that there are instructions for: what the rows of `backends.instructions` say."""
    winograd: str = "auto"
    """Which convolutions with small windows are transformed: `auto`, those that get faster; `off`, none; `2`, `4`: all that can be, with
    tiles of so many results along an axis."""
    strassen: str = "auto"
    """Which products with constant weights are made of seven products of halves: `auto`, those that get faster; `off`, none; `on`, all
    that can be."""
    growth: WeightGrowth | None = None
    """Of these algorithms, the most bytes by which their weights exceed plain ones; None: no limit."""
    pools: tuple[Pool, ...] = ()
    """The parts of memory that temporaries lie in, the first one first; empty: one arena, as large as it has to be."""

    def dot(self, function: str) -> DotInstruction | None:
        """The instruction for a dot product; None without one."""
        return next((d for d in self.dots if d.function == function), None)

    def dot_cost(self, function: str) -> float:
        """The number of instructions for a dot product; infinite without any."""
        instruction = self.dot(function)
        return instruction.cost if instruction is not None else math.inf

    @property
    def first_factor(self) -> str:
        """The dtype of the numbers that an instruction takes beside int8 ones: `uint8` (x86), `int8` (Arm without `i8mm`); empty: both, or
        there is no such instruction."""
        return next((d.moved_to for d in self.dots if d.moved_to and d.function.endswith("s8")), "")

    @property
    def has_matrices(self) -> bool:
        """True if an instruction adds more than a vector of products, or of words of them, to sums."""
        return max(self.product_rows, self.summed_products, self.byte_tiles, self.pair_tiles) > 1

    @property
    def has_little_memory(self) -> bool:
        """True if bytes of memory count for more than time, as a stack of at most 4 KB says."""
        return self.stack_bytes <= 1 << 12

    @property
    def band_bytes(self) -> int:
        """The most bytes of a copy that is computed for some rows at a time: little where memory is."""
        return self.stack_bytes if self.has_little_memory else self.packed_bytes

    @property
    def halves_vectors(self) -> bool:
        """True if arithmetic on vectors of half the width takes half the time: whole ones are computed in two halves (Zen 4), or by both
        units together."""
        return self.vector_bytes == 64 and self.multiply_adds == 1

    def lanes_of(self, dtype: str) -> int:
        """Lanes per vector; 16-bit floats count as float32, in which they are computed."""
        return self.lanes(dtypes.itemsize(dtypes.accumulator_dtype(dtype)))

    def lanes(self, itemsize: int) -> int:
        """Elements of a vector."""
        return max(1, self.vector_bytes // itemsize)

    def resized(self, sizes: Mapping[str, Any]) -> VectorTarget:
        """The same processor with other numbers of `SIZES`: numbers, or texts of numbers.

        Raises UsageError for values that are no number of their kind, and for numbers below 1.
        """
        numbers: dict[str, Any] = {n: _read(n, v) for n, v in sizes.items()}
        return replace(self, **numbers) if sizes else self


USUAL = VectorTarget()
"""A core with unknown properties."""

SIZES = {f.name: f for f in fields(VectorTarget) if "unit" in f.metadata and f.name != "vector_bytes"}
"""The fields that a target may set, by name: those whose `metadata` has `unit` and `meaning`, but for the width of vectors, which follows
from the processor. Fields without a unit follow from the processor or from flags."""


def _read(name: str, value: Any) -> int | float:
    whole = isinstance(SIZES[name].default, int)
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValueError
        number: int | float = int(str(value)) if whole else float(value)
    except ValueError:
        raise UsageError(f"{name}={value!r} is not a{' whole' if whole else ''} number") from None
    most = SIZES[name].metadata["most"]
    if not 1 <= number <= most:
        raise UsageError(f"{name}={value} is not between 1 and {most}")
    return number
