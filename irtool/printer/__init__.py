"""From IR to text: Relay modules and expressions in TVM's layout, lowered functions, and a lexer to colour them."""

from ..namespace import submodules
from .text import constant_names, to_text

__all__ = ["constant_names", "to_text"]

__getattr__ = submodules(__name__)
