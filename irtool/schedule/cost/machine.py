"""Constants of the cost model: unit, measurement, processor and date of each.

Sizes and rates of the processor itself are fields of `VectorTarget`; what holds for all processors so far is here. "Margins" are
factors by which one way must win, as an estimate is not exact.
"""

# Memory

FLOAT32_BYTES = 4
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

CACHE_WAY = 4096
"""Bytes of one way of the L1 cache: a page, so that a set is found without a translation."""

SCATTERED_STORE = 8
"""Cycles to store a result alone, in a line whose other elements are stored much later. 2026-11-27; 2 was assumed before."""

GATHERED_ELEMENT = 1.5
"""Cycles to load an element and put it into its lane of a vector. Assumed."""

# Arithmetic

REACHED_PEAK = 0.92
"""Share of its peak that a product in the caches reaches with vectors of 64 bytes. AVX-512 core of 155 GFLOP/s, 2026-11-22."""

TILE_OVERHEAD = 12
"""Cycles to begin and end a tile of registers. AVX-512 core of 155 GFLOP/s, 2026-11-22."""

SPILLED_REGISTER = 6
"""Registers that a spilled accumulator counts for on AVX2: its load and store take longer than its sums. Tiles of 6 x 2 and 4 x 3
vectors reach 97 % of peak, larger ones do not; x86-64-v3, 2026-11-27."""

TRANSFORM_SPILLS = 1.3
"""Cycles of a Winograd transform over those of its instructions, as its tile is larger than the registers. AVX-512 core of 155 GFLOP/s,
2026-11-22."""

BORDER_COPY = 4
"""Operations to copy an element of a window at the border. 2026-11-27."""

HALVES_SPILLS = 1.3
"""Cycles of Strassen's sums over those of their instructions. AVX-512, 2026-11-24."""

HALVES_SPILLS_OF_16 = 2.0
"""The same with 16 vector registers. x86-64-v3, 2026-11-27."""

# Matrix tiles

TILE_PRODUCT = 16
"""Cycles of an instruction on a matrix tile of 16 rows. Sapphire Rapids (AMX), 2026-11-24."""

TILE_LOAD = 8
"""Cycles to load a matrix tile of 16 rows. Sapphire Rapids, 2026-11-24."""

TILE_STORE = 24
"""Cycles to store a matrix tile of 16 rows and read its sums again. Sapphire Rapids, 2026-11-24."""

TILE_LATENCY = 52
"""Cycles until a sum is there that the next instruction adds to. Sapphire Rapids, 2026-11-24."""

REGISTER_TILE_PEAK = 0.85
"""Share of their peak that tiles of registers reach, beside matrix tiles. Sapphire Rapids, 2026-11-24."""

REGISTER_TILE_COST = 4 / (24 * 16)
"""Cycles per update of `register_tile`'s tile of 24 vectors of 16 lanes: the unit of `register_tile`'s estimates."""

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

# Margins

WINOGRAD_GAIN = 0.9
"""A transformed convolution must take at most so much of the time of the plain one."""

WINOGRAD_GAIN_OF_MEMORY = 0.8
"""The same where the transformed weights are larger than the caches: other users of memory take their time."""

STRASSEN_GAIN = 0.97
"""A product of halves must take at most so much of the time of the plain one."""

TILE_GAIN = 0.9
"""Matrix tiles must take at most so much of the time of vectors."""

TILE_DISCOUNT = 0.8
"""Factor on the estimate of matrix tiles, so that they come before `blocked_sum`, whose estimate is `BLOCKED_GAIN` of
`register_tile`'s."""

BLOCKED_GAIN = 0.9
"""Time of a long sum in blocks over that without: the least that was seen. 2026-11-23, processor not recorded."""

ROWS_FIRST_GAIN = 1.3
"""Least ratio of operations saved by combining rows first: it makes up for the row that is written and read again."""

ALIKE = 1.05
"""Plans count as equally fast with one thread up to so many times the fewest cycles."""

BOTH_LIMIT = 1.05
"""Most of the mean of the cycles of one thread and twice those of one of two, over the best: with more, two threads lose what one
gains. ResNet-50, 2026-11-24."""

MEMORY_WORTH = 1.2
"""Cycles that a plan may take over one which takes more memory."""

NARROW_SQUARES = 0.3
"""Squares half as wide cost two to this power. int8 1024 x 1024, Zen 4, 2026-11-23."""

SHARED_READS = 0.6
"""Largest part of reads that remains where rows made together are worth their longer code. Zen 4, 2026-11-26."""

LEAST_SAVED = 0.4
"""Least part of the steps of dilated windows that lies in the padding, for a partition to pay."""
