"""Operators that read or write the elements that indices name."""
