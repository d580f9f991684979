"""The reference interpreter: the meaning of a program, by the numpy references of its operators."""

from typing import TYPE_CHECKING

from ..namespace import submodules

if TYPE_CHECKING:
    from .values import Closure, Data, Reference

__all__ = ["Closure", "Data", "Reference"]

__getattr__ = submodules(__name__, values=__all__)
