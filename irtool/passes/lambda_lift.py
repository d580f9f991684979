"""LambdaLift: local functions become global ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..ir import (
    Call,
    Expr,
    Function,
    GlobalVar,
    Let,
    Module,
    Type,
    TypeVar,
    Var,
    binders,
    children,
    post_order,
    rewrite,
    substitute,
    with_function,
)
from ..ir.tvm_hash import tvm_hash
from ..ir.types import free_type_vars
from .core.base import ModulePass, register_pass
from .core.context import PassContext
from .core.function_keys import DEEPEST, FunctionKeys, nesting
from .core.lexical_devices import fix_device, is_fixed
from .core.primitive_functions import is_primitive, separate_primitives


@register_pass("LambdaLift", level=1)
@dataclass(frozen=True)
class LambdaLift(ModulePass):
    """Lifts nested functions to global functions.

    ::

        def @main(%x) { let %f = fn (%y) { add(%x, %y) }; %f(1f) }
            ⇒  def @lifted_name0(%x, Closure=1) { fn (%y) { add(%x, %y) } }
               def @main(%x) { let %f = @lifted_name0(%x); %f(1f) }

    A function without free variables is lifted unchanged; any other becomes a function of its free variables that returns
    the closure. Equal functions are lifted once. Primitive functions stay in place.

    Names are TVM's: `lifted_name` and the structural hash of the original function. TVM's hash of a function with free
    variables or global functions depends on addresses and differs from run to run: such functions, and very deeply nested
    ones, are numbered from 0 here.
    """

    def transform(self, module: Module, context: PassContext) -> Module:
        lifter = _Lifter(module)
        functions = dict(module.functions)
        for name, function in module.functions.items():
            if isinstance(function, Function) and "Compiler" not in function.attrs:
                functions[name] = lifter.lift_inside(function)
        return module.with_functions({**functions, **lifter.lifted})


@dataclass(frozen=True)
class _Plan:
    """The plan for a local function.

    Attributes:
        name: its name as a global function.
        captured: the variables that it takes from outside.
        types: the type variables that it takes from outside.
        own_name: the variable by which it calls itself, if it does.
    """

    name: str
    captured: tuple[Var, ...]
    types: tuple[TypeVar, ...]
    own_name: Var | None

    @property
    def is_closure(self) -> bool:
        return bool(self.captured or self.types)

    def value(self) -> Expr:
        """The replacement of the function."""
        function = GlobalVar(self.name)
        return Call(function, self.captured) if self.is_closure else function


class _Lifter:
    def __init__(self, module: Module) -> None:
        self.module = module
        self.lifted: dict[str, Function] = {}
        self.plans: dict[Function, _Plan] = {}
        self.names: dict[tuple[int, tuple[Var, ...]], str] = {}
        self.taken = set(module.functions)
        self.count = 0

    def lift_inside(self, function: Function) -> Function:
        """`function` with everything that is written inside it lifted."""
        function = separate_primitives(function)
        self._plan(function)
        memo: dict[Expr, Expr] = {p.own_name: p.value() for p in self.plans.values() if p.own_name is not None}

        def enter(old: Expr) -> Expr | None:
            return old if is_primitive(old) and old is not function else None

        def leave(old: Expr, new: Expr) -> Expr:
            if is_fixed(old):
                assert isinstance(new, Call)
                return fix_device(new.args[0], old.attrs.virtual_device)
            plan = self.plans.get(old) if isinstance(old, Function) else None
            if plan is None:
                return new
            self._define(plan, old, new)  # type: ignore[arg-type]  # functions have plans, and `new` is `old` over its new children
            if plan.own_name is not None:
                # Inside, the name stood for the global function; from here on it is the variable of the `let`.
                memo[plan.own_name] = plan.own_name
            return plan.value()

        return rewrite(function, leave, enter, memo)

    def _define(self, plan: _Plan, old: Function, new: Function) -> None:
        if plan.name in self.lifted:
            return
        if not plan.is_closure:
            self.lifted[plan.name] = new
            return
        own = {v: Var(v.name, v.checked_type or v.type_annotation, v.span) for v in plan.captured}
        inner = with_function(new, body=substitute(new.body, own))
        self.lifted[plan.name] = Function(
            tuple(own.values()), inner, _function_type(old), plan.types, {"Closure": 1}, old.span
        )

    def _plan(self, root: Function) -> None:
        """Decides on names and captured variables, from the outside to the inside."""
        own_names = {
            e.value: e.var
            for e in post_order(root)
            if isinstance(e, Let) and isinstance(e.value, Function) and not is_primitive(e.value)
        }
        keys = FunctionKeys(root)
        depths = nesting(root)
        polymorphic = bool(_type_variables(root))
        captured_by: dict[Var, tuple[Var, ...]] = {}
        seen: set[Expr] = set()
        stack: list[tuple[Expr, frozenset[Var]]] = [(root, frozenset())]
        while stack:
            e, inside = stack.pop()
            if e in seen:
                continue
            seen.add(e)
            if isinstance(e, Function) and e is not root:
                if e.attrs.get("Primitive"):
                    continue
                captured, own_name = _captured(keys.free[e], own_names.get(e), inside, captured_by)
                types = tuple(_free_types(e, captured)) if polymorphic else ()
                plan = self.plans[e] = _Plan(self._name(e, keys, depths[e]), captured, types, own_name)
                if plan.own_name is not None:
                    inside |= {plan.own_name}
                    captured_by[plan.own_name] = plan.captured
            stack.extend((c, inside) for c in reversed(children(e)))

    def _name(self, function: Function, keys: FunctionKeys, depth: int) -> str:
        """The name of a function that does the same with the same variables and is lifted already, or a fresh one."""
        key = (keys.digest[function], keys.free[function])
        known = self.names.get(key)
        if known is not None:
            return known
        number = None if keys.free[function] or depth > DEEPEST else _peer_number(function)
        if number is None:
            number, self.count = self.count, self.count + 1
        while (name := f"lifted_name{number}") in self.taken:
            number += 1
        self.taken.add(name)
        self.names[key] = name
        return name


def _peer_number(function: Function) -> int | None:
    """The number that TVM gives a function, or None if it is different in each of its runs."""
    addresses: dict[Any, int] = {}
    number = tvm_hash(function, addresses)
    return None if addresses else number


def _captured(
    free: tuple[Var, ...], own_name: Var | None, inside: frozenset[Var], captured_by: dict[Var, tuple[Var, ...]]
) -> tuple[tuple[Var, ...], Var | None]:
    """The variables that a function takes from outside, and its own name if it uses that."""
    captured: dict[Var, None] = {}
    for v in free:
        if v in inside:
            # The name of a function around this one: its captured variables are captured here, too.
            captured.update(dict.fromkeys(captured_by[v]))
        elif v is not own_name:
            captured[v] = None
    return tuple(captured), own_name if own_name in free else None


def _function_type(function: Function) -> Type | None:
    try:
        return function.func_type
    except ValueError:
        return function.checked_type


def _free_types(function: Function, captured: tuple[Var, ...]) -> list[TypeVar]:
    """Type variables used in a function and bound outside it, in order of first use.

    Those in the types of the function itself and of what it captures count as well, written or inferred: they will be
    written on the global function.
    """
    type_vars = dict.fromkeys(_type_variables(function))
    for t in (*(v.checked_type or v.type_annotation for v in captured), _function_type(function)):
        if t is not None:
            type_vars.update(dict.fromkeys(free_type_vars(t)))
    bound = {v for e in post_order(function) if isinstance(e, Function) for v in e.type_params}
    return [v for v in type_vars if v not in bound]


def _type_variables(function: Function) -> list[TypeVar]:
    """Type variables in the annotations of a function, in order of first use; those that a type binds itself left out."""
    type_vars: dict[TypeVar, None] = {}
    for e in (function, *post_order(function)):
        types = [v.type_annotation for v in binders(e)]
        if isinstance(e, Function):
            types.append(e.ret_type)
        elif isinstance(e, Call):
            types += e.type_args
        for t in types:
            if t is not None:
                type_vars.update(dict.fromkeys(free_type_vars(t)))
    return list(type_vars)
