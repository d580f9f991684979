"""Operators with shapes from tensors instead of attributes; `base` defines them."""
