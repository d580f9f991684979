"""Reductions whose results are accumulated in a register tile: products, convolutions, pooling."""
