"""Tuning: the choices that strategies offer for the kernels of a network, measured.

kernels   the distinct kernels of a module, and the choices for their stages
search    which choices are measured, in which order, and which of them is kept
"""

from .search import Budget, Outcome, tune

__all__ = ["Budget", "Outcome", "tune"]
