"""The LLVM backend: LLVM IR text of the same scheduled nests, with the entry points that the C backend has.

backend     the plug-in: flags, files, compiling
builder     text of one function
types       dtypes as LLVM types, literals
expression  scalar expressions
vectors     bodies of vectorized loops
nest        loop nests (kernels)
small_c     compiles the functions that generated code calls, which are written in a small part of C
library     which of these a program calls
hosting     functions of the network: kernel calls, branches, loops
weights     constants
program     the whole text
tools       clang, llvmlite, linkers
"""

from .backend import Llvm

__all__ = ["Llvm"]
