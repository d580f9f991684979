"""The interface of a compiled program, in any language.

names           identifiers of C: injective, never a keyword, never unescaped input
entry           entry points and `NAME.h`
memory          the workspace
weights_file    the storage of constants, and `NAME.bin`
expanded_weights  weights that are transformed when the library loads them
weights_digest  the digest that detects damaged weights
kernel_comment  the comment before a kernel
comment         comments of C
"""
