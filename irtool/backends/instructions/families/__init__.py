"""Families of instructions for sums of products. Each module has `ROWS`, its instructions, and `SETS`, their instruction sets."""
