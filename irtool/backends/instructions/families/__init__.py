"""Families of instructions for sums of products. Each module has `ROWS`, its instructions, and `SETS`, the instruction sets that
it brings."""
