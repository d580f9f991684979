"""The C backend: C99 that needs libc and libm only.

backend     the plug-in: flags, files, compiling
names       identifiers: injective, never a keyword, never unescaped input
scalars     dtypes as C types, literals
support     small functions that expressions need, printed only where used
expression  scalar expressions
nest        loop nests (kernels)
vectors     bodies of vectorized loops; `vector_…` have the functions that they call
hosting     functions of the network: kernel calls, branches, loops
interface   entry points and the header
weights     where constants are kept
program     the whole file and its header
compiler    running the system's C compiler
"""

from .backend import C

__all__ = ["C"]
