"""A Relay module as a program of kernel calls.

Each first-order function of the module becomes a host function, and so does each local function that is called. Calls of
primitive functions become kernel calls, and so do calls of operators that nobody fused; `let`, tuples and projections leave
nothing behind; `if` becomes a branch; calls of other functions stay calls, or become iterations of a loop. A value that only renames
memory (a reshape) shares its operand's slot.

Algebraic data, functions as values and references are known while lowering: C has slots only for the tensors in them. So calls
of functions that take or give such values are lowered in place, once for each call, and a `match` takes the clause that fits.
This needs constructors that do not depend on the inputs; where they do, that is refused.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..diagnostics import IrError
from ..ir import Function, Module
from ..ir.tensor_names import state_outputs
from ..tir.program import HostFunction, Program, runs_of
from ..tir.vector_target import USUAL, VectorTarget
from .arguments import bind_constant_arguments
from .function import FunctionLowering
from .loops import loop_tail_calls
from .shared import ModuleLowering
from .states import keep_states


class DependsOnValues(IrError):
    """A fact that lowering needs (a constructor, the depth of a recursion) depends on the values of inputs."""


def lower_module(module: Module, entries: Iterable[str] = ("main",), target: VectorTarget = USUAL) -> Program:
    """The program of a typed module: the entries, their callees, and their kernels; memory is not planned yet. `target`
    decides which intermediate results are stored.

    Raises IrError if an expression has no counterpart in C, listing every operator that cannot be compiled;
    DependsOnValues where it would have one if inputs were constants.
    """
    whole, names = ModuleLowering(module, target), list(entries)
    for name in names:
        whole.enqueue(name)
        f = module[name]
        if isinstance(f, Function) and state_outputs(f):
            whole.stateful.add(name)
    functions: dict[str, HostFunction] = {}
    while whole.waiting:
        name, closure, captured = whole.waiting.pop()
        lowered = FunctionLowering(whole, name, closure, captured).lower()
        functions[name] = (
            keep_states(closure.function, lowered, whole.constant)
            if name in whole.stateful and not whole.problems
            else lowered
        )
    if whole.problems:
        kind = DependsOnValues if whole.depends_on_values else IrError
        raise kind(list(dict.fromkeys(whole.problems)))
    functions = loop_tail_calls(functions, names)
    bind_constant_arguments(functions, names)
    program = Program(functions, whole.kernels.all, whole.constants, names[0], names)
    used = runs_of(program)
    program.kernels = [k for k in whole.kernels.all if k in used]
    return program
