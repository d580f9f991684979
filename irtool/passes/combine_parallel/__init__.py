"""CombineParallelConv2D, CombineParallelDense, CombineParallelBatchMatmul: calls that share an operand become one."""
