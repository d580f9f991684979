"""RemoveUnusedFunctions: removes functions that no entry function reaches."""

from __future__ import annotations

from dataclasses import dataclass

from ..diagnostics import IrError, nearest
from ..ir import Call, Function, GlobalVar, Module, post_order
from .core.base import ModulePass, register_pass
from .core.context import PassContext


@register_pass("RemoveUnusedFunctions", level=1)
@dataclass(frozen=True)
class RemoveUnusedFunctions(ModulePass):
    """Removes functions that are not reachable from the entry functions.

    ::

        def @helper(…)  def @dead(…)  def @main(…) { @helper(…) }   ⇒   def @helper(…)  def @main(…) { @helper(…) }

    Options:
        entry_functions: roots of the call graph. A name missing from the module is refused, except for the default
            `main`: a module without it is left alone. Functions selected with `func(…)` are entries, too.
    """

    entry_functions: tuple[str, ...] | None = None

    takes_open_types = True

    def transform(self, module: Module, context: PassContext) -> Module:
        reached = reachable(module, self._entries(module, context))
        if not reached:
            return module
        return module.with_functions({n: f for n, f in module.functions.items() if n in reached})

    def _entries(self, module: Module, context: PassContext) -> list[str]:
        if self.entry_functions is None:
            entries = ["main"] if "main" in module else []
        else:
            entries = list(self.entry_functions)
            for name in entries:
                if name not in module:
                    raise IrError(
                        f"the entry function @{name} is not in the module", help=nearest(name, module.functions)
                    )
        return entries + [n for n in module.functions if n in context.exported]


def reachable(module: Module, entries: list[str]) -> set[str]:
    """Names of the functions that the entries call, themselves included, transitively."""
    reached: set[str] = set()
    waiting = list(entries)
    while waiting:
        name = waiting.pop()
        if name in reached:
            continue
        reached.add(name)
        function = module.functions.get(name)
        if isinstance(function, Function):
            waiting += _called(function)
    return reached


def _called(function: Function) -> list[str]:
    names = []
    for e in post_order(function):
        if isinstance(e, GlobalVar):
            names.append(e.name)
        elif isinstance(e, Call):
            names += _shape_function(e)
    return names


def _shape_function(e: Call) -> list[str]:
    """The function that a lowered call computes its result's shape with: named in its attributes only."""
    metadata = getattr(e.attrs, "metadata", None)
    shape_function = metadata.get("prim_shape_fn_var") if isinstance(metadata, dict) else None
    return [shape_function.name] if isinstance(shape_function, GlobalVar) else []
