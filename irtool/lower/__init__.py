"""From fused Relay functions to loop nests, memory offsets, and the program that calls them.

compose   a primitive function         ⇒ a graph of tensor expressions (its operators' `compute`)
stages    that graph                   ⇒ which tensors exist in memory, which are computed where they are read
nest      the stages                   ⇒ one loop nest, for compiling
plain     the stages                   ⇒ one loop nest without any schedule, for reading (passes.LowerTE)
host      a module of such calls       ⇒ functions of kernel calls, branches and calls of each other
loops     calls that functions end in  ⇒ iterations of loops
memory    a host function's buffers    ⇒ offsets in one arena
storage   a function of kernel calls   ⇒ TVM's storage plan, for graph JSON and reports
targets   a lowered module             ⇒ its functions by target
"""

# ruff: noqa: F401 - this file is the list of the names

from ..namespace import submodules
from ..tir.program import HostFunction, Program
from .compose import TensorGraph, compose
from .host import lower_module
from .memory import plan_memory
from .nest import lower_function

__getattr__ = submodules(__name__)
