"""The reference interpreter: what a program means, by the numpy references of its operators."""

from .evaluate import evaluate, evaluate_expr
from .values import Closure, Data, Reference

__all__ = ["Closure", "Data", "Reference", "evaluate", "evaluate_expr"]
