"""The 64-bit hash that TVM gives names with: the same program, the same number as in TVM 0.10.

`structural_hash` of `irtool.ir.structural` is the project's own; this one exists because names and labels in TVM's
texts are made of it, and the order of a module's functions follows from their names.

The hash of a node starts as the hash of its type key, and takes in the hashes of its parts, the last one first. A node
that is shared by identity (calls, variables, functions, `let` …) takes in, after its parts, how many such nodes were
finished before it. Variables take in no name: one that is met where variables are bound is the count of those met there
before, and any other one is its address in memory. Addresses differ from run to run of TVM, so hashes with a variable
from outside cannot be TVM's; here such a variable has the made-up address that `addresses` gives it.
"""

from .walk import tvm_hash

__all__ = ["tvm_hash"]
