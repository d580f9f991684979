"""Backends, which print a program in a language such as C. They see loop nests, never Relay.

base        the definition of a backend; flags, sources, library and process belong to it
c, llvm     the backends, which know nothing of each other

Common parts:

formulas    the functions that generated code calls, in a small part of C
libm        the functions of libm that intrinsics become
c_types     dtypes as C types, literals of C
interface   the interface of a compiled program: names, entry points, the header, weights
toolchain   running the system's C compiler
"""
