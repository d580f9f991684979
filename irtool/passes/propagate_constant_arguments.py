"""PropagateConstantArguments: puts a constant argument that all calls of a function share into its body."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    Module,
    children,
    post_order,
    rewrite,
    substitute,
    with_function,
)
from .core.base import ModulePass, register_pass
from .core.context import PassContext

Calls = dict[str, list[tuple[str, Call]]]
"""By name of a function, its calls, each with the name of the function that it is in."""


@register_pass("PropagateConstantArguments", level=1, required=("InferType",))
@dataclass(frozen=True)
class PropagateConstantArguments(ModulePass):
    """Puts constants that all calls of a function share in the place of its parameters.

    ::

        def @loop(%i, %h, %w) { if (…) { @loop(…, nn.dense(%h, %w), %w) } … }  def @main(%x) { @loop(0, %x, W) }
            ⇒  def @loop(%i, %h) { if (…) { @loop(…, nn.dense(%h, W)) } … }  def @main(%x) { @loop(0, %x) }

    Calls in the function itself may hand on the parameter: it does not vary in the loop. What the body computes from constants
    alone is then folded once instead of in each step, and weights are laid out when the program is built. Functions that are used as
    values, that have attributes or type parameters, and entries keep their parameters.
    """

    def transform(self, module: Module, context: PassContext) -> Module:
        entries = {"main", *context.exported}
        while True:  # a constant may go on to the functions that a body calls
            functions = {n: f for n, f in module.functions.items() if isinstance(f, Function)}
            calls, values = _calls(functions)
            bound = {}
            for name, sites in calls.items():
                f = functions.get(name)
                if f is None or name in entries or name in values or f.attrs or f.type_params:
                    continue
                if constants := _constants(name, f, sites):
                    bound[name] = constants
            if not bound:
                return module
            changed = {n: _changed(n, f, bound) for n, f in functions.items()}
            module = module.with_functions({n: changed.get(n, f) for n, f in module.functions.items()})


def _calls(functions: dict[str, Function]) -> tuple[Calls, set[str]]:
    """The calls of functions by name, and the names that stand anywhere else."""
    calls: Calls = {}
    values: set[str] = set()
    for caller, f in functions.items():
        for e in post_order(f):
            operands = children(e)
            if isinstance(e, Call) and isinstance(e.op, GlobalVar):
                calls.setdefault(e.op.name, []).append((caller, e))
                operands = e.args
            values.update(k.name for k in operands if isinstance(k, GlobalVar))
    return calls, values


def _constants(name: str, function: Function, sites: list[tuple[str, Call]]) -> dict[int, Constant]:
    """The constants that all calls hand to parameters, by position."""
    bound = {}
    for n, p in enumerate(function.params):
        values = [call.args[n] for caller, call in sites if not (caller == name and call.args[n] is p)]
        first = values[0] if values else None
        if isinstance(first, Constant) and all(e is first for e in values):
            bound[n] = first
    return bound


def _changed(name: str, function: Function, bound: dict[str, dict[int, Constant]]) -> Function:
    """The function without the parameters that are bound, and its calls without these arguments."""

    def leave(old: Expr, new: Expr) -> Expr:
        if not isinstance(new, Call) or not isinstance(new.op, GlobalVar) or new.op.name not in bound:
            return new
        bindings = bound[new.op.name]
        args = tuple(a for n, a in enumerate(new.args) if n not in bindings)
        return Call(GlobalVar(new.op.name, new.op.span), args, new.attrs, new.type_args, new.span)

    changed = rewrite(function, leave)
    bindings = bound.get(name, {})
    if not bindings:
        return changed
    values = {changed.params[n]: constant for n, constant in bindings.items()}
    body = substitute(changed.body, values)
    params = tuple(p for n, p in enumerate(changed.params) if n not in bindings)
    return with_function(changed, params=params, body=body)
