"""Rewrites of loop nests that keep their results."""
