"""Turning dequantize … quantize regions into integer operators: `affine` types, `rules` for operators, `regions`."""
