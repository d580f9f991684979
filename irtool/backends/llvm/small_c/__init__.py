"""Compiles the functions that expressions call (`backends.formulas`) to LLVM IR.

These are written once, in a small part of C: numbers and vectors of GCC's kind, local variables, `if`, `for`, `return`, the
operators, unions that reinterpret bits. There are no structs, no strings, no arrays. So both backends compute by the same
formulas, in the same order. Of what is conditional for the preprocessor, what follows `#else` is taken: the part that needs no
compiler of a certain kind.

tokens        words and marks
types         types, operands, numbers
conversions   C's implicit conversions of operands
expressions   expressions
functions     declarations and statements
signatures    the types of functions that call each other
"""

from .functions import compile_function, declare

__all__ = ["compile_function", "declare"]
