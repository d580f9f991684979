"""A module as a Relax module: the written functions, and their shared state.

A function inside of another one becomes a function of the module with what it captures as further parameters; where it is
a value, `R.make_closure` puts these to it, as TVM's own pass `LambdaLift` does.
"""

from __future__ import annotations

from ...ir import Function, Module, Var
from ...ir.walk import free_variables_of_functions
from ..unsupported import Unsupported
from .constants import Constants
from .kernels import Kernels
from .names import ScriptNames
from .values import Lifted, Value


class Program:
    """State shared by the functions of a typed module in A-normal form.

    Attributes:
        globals: its global functions.
        missing: operators without a form in Relax, in the functions written so far.
        constants: variables bound to constants, in any function.
        waiting: functions still to write; those found inside of a function follow it.
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
        self.waiting = list(reversed(self.globals.values()))

    def lift(self, var: Var, f: Function, around: Lifted) -> Lifted:
        """A function inside of another as one of the module."""
        captures: dict[Var, None] = {}
        for v in self._free[f]:
            if v in self._lifted:
                captures.update(dict.fromkeys(self._lifted[v].captures))
            elif v is not var and v not in self.constants:
                captures[v] = None
        result = Lifted(self.names.fresh(f"{around.name}_{var.name}"), f, tuple(captures), var)
        self._lifted[var] = result
        self.waiting.append(result)
        return result
