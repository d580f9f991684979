"""Partial evaluation: running a program as far as it can be run without its inputs.

`values` holds the known parts of a value, `fuel` the bound of the unrolling of recursion, `store` the known contents of references,
`copying` the copies that keep bound variables distinct, and `evaluator` the evaluator itself.
"""
