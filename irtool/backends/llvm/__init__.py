"""The LLVM backend: LLVM IR text of the same scheduled nests, with the entry points of the C backend.

backend     the plug-in: flags, files, compiling
builder     text of one function
types       dtypes as LLVM types, literals
expression  scalar expressions
vectors     bodies of vectorized loops
nest        loop nests (kernels)
small_c     compiler of the functions that generated code calls, which are in a small part of C
library     the functions among these that a program calls
hosting     functions of the network: kernel calls, branches, loops
weights     constants
program     the whole text
tools       clang, llvmlite, linkers
"""

from .backend import Llvm

__all__ = ["Llvm"]
