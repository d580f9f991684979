"""Estimates in processor cycles, which strategies compare.

machine          constants, each with its unit, its measurement, the processor and the date
register_tiles   a tile of registers: cycles per update
tile_choice      vector axis and tile of a reduction
row_choice       vector axis of a sum along rows, and its cycles
map_cycles       elementwise nests: vectors, squares, single elements; windows that are combined in two steps
gemm_cost        a matrix product from the caches
winograd         Winograd's algorithm compared with a direct convolution
"""
