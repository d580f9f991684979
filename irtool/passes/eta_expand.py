"""EtaExpand: constructors and global functions used as values become functions that call them."""

from __future__ import annotations

from dataclasses import dataclass

from ..diagnostics import UsageError
from ..ir import Call, Constructor, Expr, Function, GlobalVar, Module, Type, TypeCall, TypeVar, Var, rewrite
from ..ir.types import rewrite_type
from .core.base import ModulePass, register_pass
from .core.context import PassContext


@register_pass("EtaExpand", level=1)
@dataclass(frozen=True)
class EtaExpand(ModulePass):
    """Wraps constructors and global functions that are used as values in function literals (eta expansion).

    ::

        @map(Cons, …)          ⇒  @map(fn [A](%eta_expand_param: A, %eta_expand_param1: List[A]) { Cons(…) }, …)
        let %f = @g; %f(1)     ⇒  let %f = fn (%eta_expand_param) { @g(%eta_expand_param) }; %f(1)

    Options:
        expand_constructor: expand constructors that are not called.
        expand_global_var: expand global functions, called or not.
    """

    expand_constructor: bool = False
    expand_global_var: bool = False

    def transform(self, module: Module, context: PassContext) -> Module:
        if not self.expand_constructor and not self.expand_global_var:
            raise UsageError("EtaExpand has nothing to expand: set expand_constructor or expand_global_var")
        functions = dict(module.functions)
        for name, function in module.functions.items():
            if isinstance(function, Function):
                functions[name] = self._expanded(function, module)
        return module.with_functions(functions)

    def _expanded(self, function: Function, module: Module) -> Function:
        def leave(old: Expr, new: Expr) -> Expr:
            if isinstance(old, GlobalVar) and self.expand_global_var:
                return _around_global(old, module)
            if isinstance(old, Constructor) and self.expand_constructor:
                return _around_constructor(old, module)
            if isinstance(old, Call) and isinstance(old.op, Constructor) and new is not old:
                assert isinstance(new, Call)
                if all(a is b for a, b in zip(old.args, new.args, strict=True)):
                    return old
                return Call(old.op, new.args, new.attrs, new.type_args, new.span)
            return new

        return rewrite(function, leave)


def _around_global(e: GlobalVar, module: Module) -> Expr:
    target = module.functions.get(e.name)
    if not isinstance(target, Function):
        return e
    # Type parameters of its own: inside the very function that is expanded, the old ones stand for something else.
    renamed = {v: TypeVar(v.name, v.kind) for v in target.type_params}
    params = tuple(Var("eta_expand_param", _renamed(p.type_annotation, renamed)) for p in target.params)
    result = _renamed(target.ret_type, renamed)
    # A name of its own: the one that was used as a value may have the type that it was used at.
    return Function(
        params, Call(GlobalVar(e.name, span=e.span), params), result, tuple(renamed.values()), target.attrs, target.span
    )


def _around_constructor(e: Constructor, module: Module) -> Expr:
    definition = module.type_definitions[e.belong_to.name]
    renamed = {v: TypeVar("A", v.kind) for v in definition.type_vars}
    params = tuple(Var("eta_expand_param", _renamed(t, renamed)) for t in e.inputs)
    type_params = tuple(renamed.values())
    return Function(params, Call(e, params), TypeCall(e.belong_to, type_params), type_params)


def _renamed(t: Type | None, renamed: dict[TypeVar, TypeVar]) -> Type | None:
    if t is None or not renamed:
        return t
    return rewrite_type(t, lambda u: renamed.get(u, u) if isinstance(u, TypeVar) else u)
