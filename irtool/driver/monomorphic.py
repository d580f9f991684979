"""Monomorphization: copies polymorphic functions for each set of types they are called with."""

from __future__ import annotations

from collections import Counter

from ..diagnostics import IrError
from ..infer import infer_types
from ..ir import Call, Expr, Function, GlobalVar, Module, Type, rewrite, with_function
from ..ir.types import free_type_vars
from ..lower.mistakes import NoCounterpart
from ..passes.core.instantiation import settle_type_arguments
from ..passes.partial.copying import Identities
from .generic_values import with_types_at_values

DEEPEST = 8
"""Limit on copies of one function that call each other with new types: more than that come only from types that grow without end."""


def make_monomorphic(module: Module, entry: str = "main") -> Module:
    """The module in which every global function that `entry` reaches is called with one set of types.

    ::

        def @second[A, B](%a: A, %b: B) -> B { %b }     @second(%n, %x)
            ⇒  def @second_1(%a: int32, %b: float32) -> float32 { %b }     @second_1(%n, %x)

    The module must be typed. It stays the same object where nothing has type parameters; functions that are values, and not
    called, stay as they are. Raises IrError for a function that calls itself at ever larger types.
    """
    settled = infer_types(settle_type_arguments(module))
    if not any(f.type_params for f in module.relay_functions.values()):
        return with_types_at_values(settled)
    typed = with_types_at_values(settled)
    return _Copies(settled if typed is settled else settle_type_arguments(typed)).run(entry)


class _Copies:
    def __init__(self, module: Module) -> None:
        self.module = module
        self.functions = dict(module.functions)
        self.names: dict[tuple[str, tuple[Type, ...]], str] = {}
        self.copies: Counter[str] = Counter()
        self.callers: dict[str, tuple[str, ...]] = {}
        """For each copy: the original functions of the copy and of its callers."""
        self.current = ""
        self.waiting: list[str] = []

    def run(self, entry: str) -> Module:
        done: set[str] = set()
        self.waiting.append(entry)
        while self.waiting:
            name = self.waiting.pop()
            f = self.functions.get(name)
            if name not in done and isinstance(f, Function) and not f.type_params:
                done.add(name)
                self.current = name
                self.functions[name] = rewrite(f, self.leave)
        return self.module.with_functions(self.functions)

    def leave(self, old: Expr, new: Expr) -> Expr:
        if isinstance(new, GlobalVar):
            self.waiting.append(new.name)
        if not isinstance(new, Call) or not isinstance(new.op, GlobalVar) or not new.type_args:
            return new
        if any(t.is_generic and any(free_type_vars(t)) for t in new.type_args):
            return new  # in a polymorphic local function, whose types are not known yet
        return Call(GlobalVar(self.copy(new), new.op.span), new.args, new.attrs, (), new.span)

    def copy(self, call: Call) -> str:
        """The name of the copy for a call, which is made if it is missing."""
        assert isinstance(call.op, GlobalVar)
        key = call.op.name, call.type_args
        known = self.names.get(key)
        if known is None:
            f = self.module.functions[call.op.name]
            callers = (*self.callers.get(self.current, ()), call.op.name)
            if callers.count(call.op.name) > DEEPEST:
                raise IrError(
                    f"@{call.op.name} calls itself with a new type each time, so monomorphization does not end",
                    call.span,
                    code=NoCounterpart,
                )
            self.copies[call.op.name] += 1
            known = self.names[key] = self.module.fresh_name(f"{call.op.name}_{self.copies[call.op.name]}")
            self.callers[known] = callers
            bindings = dict(zip(f.type_params, call.type_args, strict=True))
            self.functions[known] = Identities().copy(with_function(f, type_params=()), bindings)
            self.waiting.append(known)
        return known
