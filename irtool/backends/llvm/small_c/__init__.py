"""A compiler of the functions that expressions call (`backends.formulas`) to LLVM IR.

These are written once, in a small part of C: numbers, GCC's vectors, elements behind pointers, local variables, `if`, `for`, `return`, the operators, and
unions that reinterpret bits; without structs, strings and arrays. So both backends compute by the same formulas, in the same
order. Preprocessor conditions select the text after `#else`, which needs no certain compiler.

tokens        words and marks
types         types, operands, numbers
conversions   C's implicit conversions of operands
expressions   expressions
functions     declarations and statements
signatures    the types of functions that call each other
"""

from .functions import compile_function, declare

__all__ = ["compile_function", "declare"]
