"""Rewrites of loop nests that keep what they compute."""
