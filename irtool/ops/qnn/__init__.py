"""Quantized operators: integers that stand for `scale * (value - zero_point)`."""
