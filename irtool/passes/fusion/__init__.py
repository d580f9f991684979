"""Operator fusion: the dataflow graph, its post-dominator tree, and the grouping that FuseOps makes of it."""
