"""A module as a Relax module: the functions that are written, and what they share.

A function inside of another one becomes a function of the module with what it captures as further parameters; where it is
a value, `R.make_closure` puts these to it, as TVM's own pass `LambdaLift` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...ir import Function, Module, Var
from ...ir.walk import free_variables_of_functions
from ..unsupported import Unsupported
from .constants import Constants
from .function import FunctionScript
from .kernels import Kernels
from .names import ScriptNames

if TYPE_CHECKING:
    from .function import Value


@dataclass(frozen=True, eq=False)
class Lifted:
    """A function of the Relax module: its name, and what it is made of.

    Attributes:
        captures: variables from outside, which are parameters behind its own.
        var: the variable that it is called by in Relay, and in its own body; None for a global function.
    """

    name: str
    function: Function
    captures: tuple[Var, ...] = ()
    var: Var | None = None
    is_public: bool = False


class Program:
    """Writes a module that is in A-normal form and typed.

    Attributes:
        globals: its global functions.
        missing: what Relax has no form for, as far as functions were written.
        constants: variables that stand for constants, in whatever function they were bound.
    """

    def __init__(self, module: Module, entry: str) -> None:
        self.missing = Unsupported("Relax")
        self.names = ScriptNames()
        self.kernels = Kernels(self.names)
        self.tensors = Constants()
        self.constants: dict[Var, Value] = {}
        self._lifted: dict[Var, Lifted] = {}
        self._free: dict[Function, list[Var]] = {}
        self.globals: dict[str, Lifted] = {}
        for name, f in sorted(module.relay_functions.items(), key=lambda item: item[0] != entry):
            self._free.update(free_variables_of_functions(f))
            self.globals[name] = Lifted(self.names.fresh(name), f, is_public=name == entry)
        for name, other in module.functions.items():
            if name not in self.globals:
                reason = "only functions of Relay are written"
                self.missing.add(f"the function @{name}", reason, getattr(other, "span", None))
        self._waiting = list(reversed(self.globals.values()))
        self.functions: list[list[str]] = []

    def write(self) -> None:
        """Writes every function; those found inside of a function follow it."""
        while self._waiting:
            self.functions.append(FunctionScript(self, self._waiting.pop()).lines())

    def lift(self, var: Var, f: Function, around: Lifted) -> Lifted:
        """A function inside of another as one of the module."""
        found: dict[Var, None] = {}
        for v in self._free[f]:
            if v in self._lifted:
                found.update(dict.fromkeys(self._lifted[v].captures))
            elif v is not var and v not in self.constants:
                found[v] = None
        made = Lifted(self.names.fresh(f"{around.name}_{var.name}"), f, tuple(found), var)
        self._lifted[var] = made
        self._waiting.append(made)
        return made
