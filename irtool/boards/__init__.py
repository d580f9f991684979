"""Boards as data: a processor with its memory, the compiler for it, and the emulator that runs its programs.

`families/` has a file for each kind of processor with its tools, `rows/` one for each board, `templates/` the start-up code, the linker script
and the Makefile, which are filled in from them. A user's board is a file like those of `rows/`.
"""
