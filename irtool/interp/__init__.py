"""The reference interpreter: the meaning of a program, by the numpy references of its operators."""

from ..namespace import submodules
from .evaluate import evaluate, evaluate_expr
from .values import Closure, Data, Reference

__all__ = ["Closure", "Data", "Reference", "evaluate", "evaluate_expr"]

__getattr__ = submodules(__name__)
