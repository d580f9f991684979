"""Partial evaluation: running a program as far as it can be run without its inputs.

`values` holds what is known of a value, `fuel` what bounds the unrolling of recursion, `store` what is known of references,
`copying` the copies that keep bound variables distinct, and `evaluator` the evaluator itself.
"""
