"""The functions that generated code calls, written once in a small part of C.

Programs include only those that they use. The C backend prints the texts unchanged; others compile them (see `language`).

support       scalar functions
vector_types  GCC's vector types
vector_math   functions of vectors; each family has a module `vector_…`
polynomials   of the families
"""
