"""All constants of the cost model: unit, measurement, processor and date of each.

Sizes and rates of the processor itself are fields of `VectorTarget`; constants for all processors are here, and nowhere else in
`schedule` (see `tests/schedule/test_constants.py`). "Margins" are factors by which an alternative must win, as estimates are not
exact. "Inherited" constants have no recorded measurement, and were not measured again.
"""

from ...tir.dtypes import itemsize
from ...tir.memory import CACHE_LINE

# Memory

FLOAT32_BYTES = itemsize("float32")
"""Bytes of a float32."""

LAST_CACHE_RATE = 13.0
"""Bytes a cycle of weights from the last cache, beside products. AVX-512 core of 155 GFLOP/s, 2026-11-22."""

MEMORY_RATE = 9.5
"""Bytes a cycle of weights from memory, which no cache keeps between runs. 2026-11-25, processor not recorded."""

SECOND_CACHE_RATE = 64.0
"""Bytes a cycle of weights from the second cache. AVX-512 core of 155 GFLOP/s, 2026-11-22."""

SECOND_CACHE_SHARE = 0.75
"""Share of the second cache that weights can have beside the rows they are multiplied with. 3 x 3 windows over 512 channels,
2026-11-23."""

FETCHED_LINE = 3
"""Cycles to fetch a line from behind the second cache, beside the sums of windows that read it: 2.5 fits as well, 2 and 3.5 do not.
Depthwise convolutions, Zen 3, AVX2, 2026-11-29."""

CACHE_WAY = 4096
"""Bytes of one way of the L1 cache: a page, so that a set is found without a translation."""

CROWDED_LINES = 2
"""Lines in the same set of the L1 cache that leave room for operands and prefetched lines. Transposes; inherited."""

STRIP_BYTES = 512
"""Bytes of each row in a strip of a transpose, and of rows so short that a strip of them is read as one. Inherited."""

SCATTERED_STORE = 8
"""Cycles to store a result alone, in a line whose other elements are stored much later. 2026-11-27; 2 was assumed before."""

CROWDED_STORE = 8 * SCATTERED_STORE
"""The same where the lines of a tile are in so few sets of the L1 cache that each visit fetches its lines from the second cache and writes others
back: 70 together with a line that is read beside it. Gradients by weights of 512 x 512 x 3 x 3, EPYC, AVX-512, 2026-11-30."""

SHUFFLED_READ = 3
"""Loads whose time a vector of every second or third element takes: two or three, and shuffles. Inherited."""

GATHERED_ELEMENT = 1.5
"""Cycles to load an element and insert it into its lane of a vector, or to extract it and store it in a near line, beside other
work. Alone it takes 0.5 and 1.0 (Zen 3, AVX2, 2026-11-29)."""

# Vectors and registers

NARROWEST_VECTOR = 16
"""Bytes of the narrowest vectors that compilers have instructions for on all processors with vectors."""

FEWEST_LANES = NARROWEST_VECTOR // FLOAT32_BYTES
"""The fewest elements that are worth a vector, or a square of a transpose; an image with fewer contiguous channels is
interleaved."""

TOGETHER = 4
"""Vectors, rows or comparisons in flight at a time, so that none waits for the one before: the latency of a multiply-add in
cycles. Inherited."""

SHORTEST_PERIOD = TOGETHER * CACHE_LINE // FLOAT32_BYTES
"""The shortest period of an operand that is worth a loop of its own: some of the longest vectors. Assumed; Zen 3, 2026-11-29."""

WIDEST_TILE = 8
"""Vectors side by side in a tile of registers at most. Inherited; blocks of layouts have half of them."""

TALLEST_TILE = 28
"""Rows of a tile of registers at most: with one vector, they fill 32 registers. Inherited."""

STEP_CYCLES = 0.25
"""Cycles of a step of a tile of registers beside those of its sums and loads. Inherited."""

LOAD_CYCLES = 0.06
"""Cycles by which a load delays a step whose sums hide it. Inherited."""

FULL_REGISTERS = 0.03
"""Part of a step that is lost if no register is left for loads ahead. Inherited."""

CROWDED_REGISTER = 0.05
"""Part of a step that is lost for each register that a tile lacks. Inherited."""

# Arithmetic

REACHED_PEAK = 0.92
"""Share of its peak that a product in the caches reaches with vectors of 64 bytes. AVX-512 core of 155 GFLOP/s, 2026-11-22."""

TILE_OVERHEAD = 12
"""Cycles to begin and end a tile of registers. AVX-512 core of 155 GFLOP/s, 2026-11-22."""

SPILLED_REGISTER = 6
"""Registers that a spilled accumulator counts for on AVX2: its load and store take longer than its sums. Tiles of 6 x 2 and 4 x 3
vectors reach 97 % of peak, larger ones do not; x86-64-v3, 2026-11-27."""

TRANSFORM_SPILLS = 1.3
"""Cycles of the sums of Winograd's and Strassen's algorithms over those of their instructions, as a tile is larger than the registers.
AVX-512 core of 155 GFLOP/s, 2026-11-22."""

TRANSFORM_SPILLS_OF_16 = 2.0
"""The same of Strassen's sums with 16 vector registers. x86-64-v3, 2026-11-27."""

BORDER_COPY = 4
"""Operations to copy an element of a window at the border. 2026-11-27."""

FOLD_STEPS = 32
"""Steps of a sum, or vectors of a row, beside which the combination of lanes is not worth a saving. Inherited."""

# Matrix tiles

TILE_PRODUCT = 16
"""Cycles of an instruction on a matrix tile of 16 rows. Sapphire Rapids (AMX), 2026-11-24."""

TILE_LOAD = 8
"""Cycles to load a matrix tile of 16 rows. Sapphire Rapids, 2026-11-24."""

TILE_STORE = 24
"""Cycles to store a matrix tile of 16 rows and read its sums again. Sapphire Rapids, 2026-11-24."""

TILE_LATENCY = 52
"""Cycles until the next instruction can add to the same sum. Sapphire Rapids, 2026-11-24."""

REGISTER_TILE_PEAK = 0.85
"""Share of their peak that tiles of registers reach, beside matrix tiles. Sapphire Rapids, 2026-11-24."""

# Threads

LATE_SHARE = 0.1
"""Share of a chunk that a thread may be late by. Two cores, 2026-11-24."""

REWRITTEN_BYTE = 2.0
"""Cycles for each byte that one core writes, another reads and the first writes again: twice as much between cores without a common
cache, a fifth with one. Two cores, 2026-11-24."""

HANDED_BYTE = 0.3
"""Cycles for a byte that two threads read and one of them wrote, once. Two cores, 2026-11-27."""

SHARED_CONSTANT_BYTE = 0.05
"""Cycles for a byte of constants that both threads read, instead of half of them each. Two cores, 2026-11-27."""

MEMORY_CONTENTION = 0.25
"""Part of the cycles of one thread reading memory that each of two has more than half: together they read 1.3 times as fast.
2026-11-25."""

STEP_STORES = 256
"""Stores of a step: a loop inside of a shared one with fewer stays serial. Inherited."""

# Margins

GAIN = 0.9
"""Largest share of the time of the plain algorithm that an alternative may take: transformed convolutions, matrix tiles. Long
sums in blocks never took less than this share of the time without blocks: 2026-11-23, processor not recorded."""

WINOGRAD_GAIN_OF_MEMORY = 0.8
"""The same if transformed weights exceed the caches: other users of memory slow them down. Inherited."""

STRASSEN_GAIN = 0.97
"""Largest share of the time of a plain product that a product of halves may take. Inherited."""

ALIKE = 1.05
"""Plans count as equally fast with one thread up to this multiple of the fewest cycles. The mean of t(1) and 2 t(2), for t(n)
cycles of n threads, may also be this multiple of the best: with more, two threads lose what one gains. ResNet-50, 2026-11-24."""

MEMORY_WORTH = 1.2
"""Cycles that a plan may take, as a multiple of those of a plan that needs more memory. Inherited."""

NARROW_SQUARES = 0.3
"""Squares half as wide cost two to this power. int8 1024 x 1024, Zen 4, 2026-11-23."""

MOST_LEFT = 0.6
"""Largest part of the work, reads or bytes that may remain if longer code or a copy saves the others. Reads of rows computed
together: Zen 4, 2026-11-26; padding of dilated windows, and constants read in part: inherited."""

REUSE = 8
"""Rows that must read an operand before packing it in a run, or a tile of it, pays. Inherited."""

FEWEST_RESULTS = 16
"""Uses that make up for a split, a conversion or a partition: products have as many, windows fewer. Inherited."""

SHARED_KERNELS = 3
"""Kernels that are worth one kernel in their place which reads its numbers from memory. Inherited."""

# Code and time of the compiler

WRITTEN_OUT = 16
"""The most copies of a step, a part or a window that are unrolled. Inherited."""

LOOKED_AT = 256
"""The most steps of a loop, or kernels of a chain, that are examined one by one. Inherited."""

MANY_TILES = (24, 32, 48, 64)
"""Numbers of Winograd tiles in a block for weights that come from memory; estimates choose among them. Inherited."""
