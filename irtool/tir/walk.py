"""Walking of any depth, for those who see loop nests but not Relay."""

from ..ir.walk import trampoline

__all__ = ["trampoline"]
