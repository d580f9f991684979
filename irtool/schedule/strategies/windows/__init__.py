"""Windows without a contiguous reduction axis: pooling, and adaptive pooling."""
