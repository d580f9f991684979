"""Stages as loop nests: their forms, their loops, and the nest that a block becomes.

forms           maps and reductions over fused or split axes
block           a form and the loops that compute it
nest            block ⇒ loop nest (with `lower_rfactor`, `packing`, `prefetching`, `tile_stores`, `horizontal_reduce`)
axes            axes fused and split before a strategy is chosen
affine          strides of indices along loops
guards          conditions on reads ⇒ bounds of loops
switches        stages and strategies that are switched off
program_rewriter  kernels and constants replaced in all calls
staged          one stage as several named blocks, for attention, winograd and strassen
block_sums      long float sums ⇒ sums of blocks
data_affinity   the threads that wrote the operands of other threads
matrix_sums     products of constant matrices and vectors, written out
lane_steps, float16_lanes, strip_mine, reassociation   vectors along an axis
"""
