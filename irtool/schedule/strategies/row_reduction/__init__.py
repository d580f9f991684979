"""Reductions along the contiguous axis: sums and extremes of rows, arg-max and arg-min."""
