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

from ..diagnostics import Diagnostic, IrError
from ..interp.mistakes import MissingConstant
from ..ir import Constant, Function, MissingData, Module, Var
from ..tir.equal_data import EqualData, beginning
from ..tir.program import CONSTANT, HostFunction, Program, Slot, runs_of
from ..tir.vector_target import USUAL, VectorTarget
from .arguments import bind_constant_arguments
from .closures import Captures
from .function import FunctionLowering
from .kernels import Kernels
from .loops import loop_tail_calls
from .values import Closure


class DependsOnValues(IrError):
    """What must be known while lowering (a constructor, how deep a recursion goes) depends on the values of inputs."""


def lower_module(module: Module, entries: Iterable[str] = ("main",), target: VectorTarget = USUAL) -> Program:
    """The program of a typed module: the entries, what they call, and their kernels; memory is not planned yet. `target` says
    what is worth being stored on the way.

    Raises IrError where an expression has no counterpart in C, listing every operator that cannot be compiled;
    DependsOnValues where it would have one if inputs were constants.
    """
    return ModuleLowering(module, target).run(list(entries))


class ModuleLowering:
    """What the functions of a module share while they are lowered.

    Attributes:
        problems: what has no counterpart, in the order found.
        depends_on_values: one of the problems is there because inputs are not constants.
        in_place: calls lowered in place so far.
        free_variables: of the local functions that have been met.
    """

    def __init__(self, module: Module, target: VectorTarget) -> None:
        self.module = module
        self.problems: list[Diagnostic] = []
        self.kernels = Kernels(self.problems, target)
        self.depends_on_values = False
        self.in_place = 0
        self.free_variables: dict[Function, list[Var]] = {}
        self._constants: list[Slot] = []
        self._contents: EqualData[Slot] = EqualData()
        self._named: dict[str, int] = {}
        self._constants_of: dict[Constant, Slot] = {}
        self._waiting: list[tuple[str, Closure, list[Slot]]] = []
        self._queued: set[str] = set()
        self._lifted: dict[int, str] = {}
        self._captures = Captures()

    def run(self, entries: list[str]) -> Program:
        """The program of some entries."""
        for name in entries:
            self.enqueue(name)
        functions: dict[str, HostFunction] = {}
        while self._waiting:
            name, closure, captured = self._waiting.pop()
            functions[name] = FunctionLowering(self, name, closure, captured).lower()
        if self.problems:
            kind = DependsOnValues if self.depends_on_values else IrError
            raise kind(list(dict.fromkeys(self.problems)))
        functions = loop_tail_calls(functions, entries)
        bind_constant_arguments(functions, entries)
        program = Program(functions, self.kernels.all, self._constants, entries[0], entries)
        used = runs_of(program)
        program.kernels = [k for k in self.kernels.all if k in used]
        return program

    def enqueue(self, name: str) -> str:
        """Sees to it that a function of the module is in the program, under its name."""
        if name not in self._queued:
            self._queued.add(name)
            function = self.module[name]
            assert isinstance(function, Function)
            self._waiting.append((name, Closure(function, {}), []))
        return name

    def lift(self, closure: Closure, hint: str) -> tuple[str, list[Slot]]:
        """The name of a local function in the program, and the slots that a call hands over behind its arguments."""
        capture = self._captures.of(closure)
        name = self._lifted.get(capture.number)
        if name is None:
            name = self._lifted[capture.number] = self._free_name(f"{hint}_local{len(self._lifted)}")
            self._waiting.append((name, *self._captures.inside(closure)))
        return name, list(capture.slots)

    def _free_name(self, wanted: str) -> str:
        while wanted in self._queued or wanted in self.module:
            wanted += "_"
        self._queued.add(wanted)
        return wanted

    def _constant_name(self, e: Constant) -> str:
        """The name of the parameter that the value is of, or a number."""
        wanted = e.span.name if e.span is not None else ""
        seen = self._named[wanted] = self._named.get(wanted, 0) + 1
        if not wanted:
            return f"constant_{len(self._constants)}"
        return wanted if seen == 1 else f"{wanted}_{seen}"

    def constant(self, e: Constant) -> Slot:
        """The slot of a constant; equal ones share it."""
        data = e.data
        if isinstance(data, MissingData):
            raise IrError(f"the data of constant {data.key}[{data.index}] is missing", e.span, code=MissingConstant)
        seen = self._constants_of.get(e)
        if seen is None:
            made = Slot("", data.shape, e.dtype, CONSTANT, data)
            seen = self._contents.first((e.dtype, data.shape), beginning(data), made.read, made)
            if seen is made:
                made.name = self._constant_name(e)
                self._constants.append(made)
            self._constants_of[e] = seen
        return seen
