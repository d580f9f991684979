"""Reductions whose results are accumulated in a tile of registers: products, convolutions, pooling."""
