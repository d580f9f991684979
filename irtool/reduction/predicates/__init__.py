"""Predicates: tests that a case still reproduces the bug of a reduction."""
