"""Caches among the states of a function, for ConvertCaches: which states are caches (`updates`), and their forms in memory (`forms`)."""
