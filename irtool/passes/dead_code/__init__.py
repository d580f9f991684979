"""Analyses of DeadCodeElimination: purity of values, and numbers of uses of variables."""
