"""Loop nests: expressions, statements, kernels and programs of them, their text and their checks."""

from ..namespace import submodules

__getattr__ = submodules(__name__)
