"""Recomputation: values of a run are computed a second time, so that they need no memory in between."""
