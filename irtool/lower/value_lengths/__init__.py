"""Lengths that follow from values: their bounds, and forms of operators with them."""
