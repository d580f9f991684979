"""The C backend: C99 that needs libc and libm only.

backend         the plug-in: flags, files, compiling
expression      scalar expressions
nest            loop nests (kernels)
vectors         bodies of vectorized loops
hosting         functions of the network: kernel calls, branches, loops
weights         constants
program         the whole file
static_memory   static arrays, or memory from malloc
banner          comments about a build
build_file      files for CMake and make
bindings        wrappers for C++, Fortran and Rust
tvm_interface   the functions of TVM's libraries
executable      the program of `--emit=exe`
testbench       the program of `--testbench`
"""

from .backend import C

__all__ = ["C"]
