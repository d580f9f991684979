"""Test-case reduction: a small module, and a short pipeline, that reproduce the bug of a large one."""

from .case import Case
from .rounds import reduce_case
from .search import Search

__all__ = ["Case", "Search", "reduce_case"]
