"""Relax, as TVMScript that TVM parses."""
