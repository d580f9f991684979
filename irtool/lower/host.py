"""A Relay module as a program of kernel calls.

Each first-order function of the module becomes a host function, and so does each local function that is called. Calls of
primitive functions become kernel calls, and so do calls of operators that nobody fused; `let`, tuples and projections leave
nothing behind; `if` becomes a branch; calls of other functions stay calls, or become iterations of a loop. A value that only renames
memory (a reshape) shares its operand's slot.

Algebraic data, functions as values and references are known while lowering if they do not depend on inputs: C has slots only for the
tensors in them. So calls of functions that take or give such values are lowered in place, once for each call, and a `match` takes the
clause that fits. If that does not work, all of them are objects in the region of a run: see `objects`.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from ..diagnostics import IrError
from ..ir import Function, Module, tuple_leaves
from ..ir.tensor_names import state_outputs
from ..tir.program import HostFunction, Program, runs_of, steps
from ..tir.region import MakeObject
from ..tir.vector_target import USUAL, VectorTarget
from .arguments import bind_constant_arguments
from .collecting import keep_useful_collections
from .function import FunctionLowering
from .handles import is_handle
from .loops import loop_tail_calls
from .mistakes import NoCounterpart
from .objects import apply_function
from .recursion import frames_on_stack
from .shared import ModuleLowering
from .states import keep_states
from .value_lengths.order import require_set_before_use


class DependsOnValues(IrError):
    """A fact that lowering needs (a constructor, the depth of a recursion) depends on the values of inputs."""


def lower_module(module: Module, entries: Iterable[str] = ("main",), target: VectorTarget = USUAL) -> Program:
    """The program of a typed module: the entries, their callees, and their kernels; memory is not planned yet. `target`
    decides which intermediate results are stored.

    Raises IrError if an expression has no counterpart in C, listing every operator that cannot be compiled;
    DependsOnValues where it would have one if inputs were constants.
    """
    names = list(entries)
    lowered = (
        None if any(_numbers_values(module[n]) for n in names) else _lowered(ModuleLowering(module, target, names))
    )
    if lowered is None or any(d.code is NoCounterpart for d in lowered[0].problems):
        lowered = _lowered(ModuleLowering(module, target, names, in_region=True))
    whole, functions = lowered
    if whole.problems:
        kind = DependsOnValues if whole.depends_on_values else IrError
        raise kind(list(dict.fromkeys(whole.problems)))
    for f in functions.values():
        require_set_before_use(f)
    functions = frames_on_stack(functions, names)
    collects = any(isinstance(s, MakeObject) for f in functions.values() for s in steps(f.body))
    functions = loop_tail_calls(functions, names, collects)
    keep_useful_collections(functions)
    bind_constant_arguments(functions, names)
    program = Program(functions, whole.kernels.all, whole.constants, names[0], names, layouts=whole.layouts.all)
    if not program.uses_region:  # its values are all constants
        for f in functions.values():
            f.releases = False
    used = runs_of(program)
    program.kernels = [k for k in whole.kernels.all if k in used]
    return program


def _numbers_values(f: Function) -> bool:
    """True for an entry with states that gives data: a value is one output among those that states name by number, whatever is known of it."""
    return bool(state_outputs(f)) and any(map(is_handle, tuple_leaves(f.body.checked_type)))  # type: ignore[arg-type]  # types have been inferred


def _lowered(whole: ModuleLowering) -> tuple[ModuleLowering, dict[str, HostFunction]]:
    """The functions of the entries and of everything that these call."""
    for name in whole.entries:
        whole.enqueue(name)
        f = whole.module[name]
        if whole.in_region and isinstance(f, Function):
            _number_values(whole, f)
        if isinstance(f, Function) and state_outputs(f):
            whole.stateful.add(name)
    functions: dict[str, HostFunction] = {}
    while whole.waiting:
        name, closure, captured = whole.waiting.pop()
        lowered = FunctionLowering(whole, name, closure, captured).lower()
        is_stateful = name in whole.stateful and not whole.problems
        functions[name] = keep_states(closure.function, lowered, whole.constant) if is_stateful else lowered
    functions.update({c.name: apply_function(c) for c in whole.codes.values()})
    return whole, functions


def _number_values(whole: ModuleLowering, f: Function) -> None:
    """Numbers the objects in parameters and results of an entry before all others, those of a type one after the other."""
    for t in (*(p.checked_type or p.type_annotation for p in f.params), f.body.checked_type):
        if t is not None:
            for x in filter(is_handle, tuple_leaves(t)):
                with suppress(IrError):  # noted where the function is lowered
                    whole.layouts.number(x)
