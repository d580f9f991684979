"""Giving parts of a program to other compilers.

`targets` says which operators a target supports, `annotations` are the marks at the borders of its regions, `regions` finds
the regions, `pattern_file` reads patterns of composite functions, `pattern_tables` holds those that come with irtool,
`libraries` the patterns of real libraries.
"""
