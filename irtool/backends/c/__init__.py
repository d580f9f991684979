"""The C backend: C99 that needs libc and libm only.

names       identifiers: injective, never a keyword, never unescaped input
ctypes      dtypes as C types, literals
support     small functions that expressions need, printed only where used
expression  scalar expressions
nest        loop nests (kernels)
program     the whole file and its header
compiler    running the system's C compiler
library     calling a compiled library from Python
"""
