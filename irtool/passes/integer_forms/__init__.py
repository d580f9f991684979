"""Exact integer arithmetic on quantized tensors: PropagateDequantize's replacements of operators around qnn.dequantize."""
