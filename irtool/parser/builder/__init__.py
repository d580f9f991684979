"""Makes IR nodes while the parser reduces: one file per part of the grammar, each a class; `Builder` is all of them."""

from .module import Builder

__all__ = ["Builder"]
