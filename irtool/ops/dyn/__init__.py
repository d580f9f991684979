"""Operators whose shapes come from tensors instead of attributes; `base` says what that means."""
