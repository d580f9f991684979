"""Predicates: whether a case still shows what a reduction is about."""
