"""Exact integer arithmetic on quantized tensors: what PropagateDequantize makes of operators around qnn.dequantize."""
