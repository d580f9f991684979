"""Operators that move, join and cut tensors without computing on their elements."""
